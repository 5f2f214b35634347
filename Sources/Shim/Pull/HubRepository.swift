import CommandLineParsing
import Foundation
import HTTP
import JSON
import LocalLLM
import Wire

/// A model repository at Hugging Face: `hf:OWNER/REPOSITORY[:QUANTIZATION][@REVISION]`, without a file name.
struct HubRepository: Equatable {
    let owner: String
    let name: String
    var quantization: String?
    var revision = "main"
    let hub: URL

    /// A model of the repository: one file, or the parts of a split one.
    struct Quantization: Equatable {
        /// As in the file name: `Q4_K_M`; the file's stem if it names none.
        let name: String
        /// Path of the file or of its first part.
        let path: String
        /// Size of all parts.
        let bytes: Int
    }

    /// - Returns: `nil` if `text` names a file or does not begin with `hf:`.
    init?(_ text: String, hub: URL = PullSource.hub) throws(UsageError) {
        guard text.utf8.starts(with: "hf:".utf8) else { return nil }
        var path = String(text.dropFirst(3))
        if let at = path.lastIndex(of: "@") {
            revision = String(path[path.index(after: at)...])
            path = String(path[..<at])
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { return nil }
        let halves = parts[1].split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard halves.count <= 2, (parts + halves + [revision]).allSatisfy({ !["", ".", ".."].contains($0) }) else {
            throw UsageError("'\(text)': expected hf:OWNER/REPOSITORY or hf:OWNER/REPOSITORY:QUANTIZATION")
        }
        (owner, name) = (parts[0], halves[0])
        quantization = halves.count > 1 ? halves[1] : nil
        self.hub = hub
    }

    /// Pages of a file list that are read; the hub puts a thousand files on each.
    static let mostPages = 1000
    /// Files and folders of a repository that are listed.
    static let mostEntries = 100_000
    /// Bytes of a file list, all pages together.
    private static let mostBytes = 32 << 20

    /// Lists the repository's files, all pages of the list.
    ///
    /// - Parameter token: Access token for repositories that need one.
    func entries(token: String?) async throws -> [Entry] {
        let path = ["api", "models", owner, name, "tree", revision].map {
            $0.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(["/"])) ?? ""
        }.joined(separator: "/")
        var components = URLComponents(url: hub, resolvingAgainstBaseURL: false)
        components?.percentEncodedPath = "/" + path
        components?.percentEncodedQuery = "recursive=true"
        guard let url = components?.url else { throw PullError("\(owner)/\(name) is not a valid URL.") }
        do {
            return try await entries(from: url, token: token)
        } catch let error where error is ClientError || error is NetworkError {
            throw PullError("The request to \(url.host() ?? "") failed: \(error)")
        }
    }

    private func entries(from first: URL, token: String?) async throws -> [Entry] {
        var entries: [Entry] = []
        var bytes = 0
        var seen: Set<URL> = []
        var next: URL? = first
        while let url = next {
            guard seen.insert(url).inserted else {
                throw PullError("The file list of \(owner)/\(name) does not end: its page \(url) comes twice.")
            }
            guard seen.count <= Self.mostPages else {
                throw PullError("The file list of \(owner)/\(name) has more than \(Self.mostPages) pages.")
            }
            let page = try await page(at: url, token: token, most: Self.mostBytes - bytes)
            entries += page.entries
            bytes += page.bytes
            guard entries.count <= Self.mostEntries else {
                throw PullError("\(owner)/\(name) has more than \(Self.mostEntries) files.")
            }
            next = page.next
        }
        return entries
    }

    /// Reads one page of the file list.
    ///
    /// - Parameter most: Bytes that the page may have.
    /// - Returns: Its files, its size, and the URL of the next page, which is on the hub.
    private func page(
        at url: URL, token: String?, most: Int
    ) async throws -> (entries: [Entry], bytes: Int, next: URL?) {
        var headers: Headers = ["User-Agent": "localllm/\(version)", "Accept-Encoding": "identity"]
        if let token, !token.isEmpty { headers["Authorization"] = "Bearer \(token)" }
        // The token is sent along, so redirects to other origins are refused.
        let (reply, place) = try await HTTPClient.get(url, headers: { _ in headers }) { _, _, place in
            guard let place, place.hasSameOrigin(as: hub) else {
                throw PullError("\(url) redirects to a host other than \(hub.host() ?? ""); not followed.")
            }
        }
        switch reply.status {
        case 200: break
        case 401, 403:
            throw PullError("Access to \(owner)/\(name) denied. If it needs an account, set HF_TOKEN to its token.")
        case 404: throw PullError("No such repository: \(owner)/\(name), or no revision \(revision).")
        default: throw PullError("\(url) cannot be downloaded: status \(reply.status).")
        }
        var bytes: [UInt8] = []
        while let data = try await reply.next() {
            bytes += data
            guard bytes.count <= most else {
                throw PullError("The file list of \(owner)/\(name) is larger than \(Self.mostBytes >> 20) MiB.")
            }
        }
        let entries: [Entry]
        do { entries = try JSON.decode([Entry].self, from: bytes) } catch {
            throw PullError("\(url) did not return a list of files: \(error.message)")
        }
        return (entries, bytes.count, try nextPage(reply.headers, after: place))
    }

    /// The URL of the next page, from the `Link` header; `nil` on the last page.
    private func nextPage(_ headers: Headers, after page: URL) throws(PullError) -> URL? {
        guard let link = linkTarget("next", in: headers) else { return nil }
        // The token is sent to it.
        guard let url = URL(string: link, relativeTo: page)?.absoluteURL, url.hasSameOrigin(as: hub) else {
            throw PullError(
                "The file list of \(owner)/\(name) continues at '\(link)', which is not on \(hub.host() ?? ""); "
                    + "not followed.")
        }
        return url
    }

    struct Entry: Decodable {
        let type: String
        let path: String
        private let size: Int?

        /// Size of the file. Impossible sizes are clamped, so that sums do not overflow.
        var bytes: Int { min(max(0, size ?? 0), Download.maximumBytes) }
    }

    /// The repository's GGUF models, smallest first.
    static func quantizations(in entries: [Entry]) -> [Quantization] {
        var models: [String: (path: String, bytes: Int)] = [:]
        for entry in entries where entry.type == "file" && entry.path.lowercased().hasSuffix(".gguf") {
            let file = String(entry.path.split(separator: "/").last ?? "")
            guard !ModelFolder.isImageEncoder(file) else { continue }
            let folder = entry.path.dropLast(file.count)
            let stem = SplitName(file)?.stem ?? String(file.dropLast(5))
            let known = models[folder + stem]
            models[folder + stem] = (
                min(known?.path ?? entry.path, entry.path), (known?.bytes ?? 0) + entry.bytes
            )
        }
        return models.map { stem, model in
            let last = String(stem.split(separator: "/").last ?? "")
            return Quantization(name: quantization(in: last) ?? last, path: model.path, bytes: model.bytes)
        }.sorted { ($0.bytes, $0.path) < ($1.bytes, $1.path) }
    }

    /// `Q4_K_M` of `Qwen3-0.6B-Q4_K_M`.
    private static func quantization(in stem: String) -> String? {
        let words = stem.split(whereSeparator: { "-.".contains($0) }).map(String.init)
        return words.last { word in
            let upper = word.uppercased()
            return ["Q", "IQ", "TQ"].contains {
                upper.hasPrefix($0) && upper.dropFirst($0.count).first?.isNumber == true
            }
                || ["F16", "BF16", "F32", "FP16", "MXFP4", "NVFP4"].contains(upper)
        }
    }

    /// The file to pull, as `hf:OWNER/REPOSITORY/FILE@REVISION`; `nil` if the user has to choose.
    func choose(from list: [Quantization]) throws -> String? {
        let chosen: Quantization
        if let quantization {
            let matches = list.filter { $0.name.lowercased() == quantization.lowercased() }
            guard matches.count == 1 else {
                throw PullError(
                    matches.isEmpty
                        ? "\(owner)/\(name) has no \(quantization). \(describe(list))"
                        : "\(owner)/\(name) has several files of \(quantization). \(describe(list))")
            }
            chosen = matches[0]
        } else if list.count == 1 {
            chosen = list[0]
        } else {
            return nil
        }
        return "hf:\(owner)/\(name)/\(chosen.path)@\(revision)"
    }

    /// - Parameter entries: The repository's files, to list its image encoders, too.
    func describe(_ list: [Quantization], entries: [Entry] = []) -> String {
        guard !list.isEmpty else { return "\(owner)/\(name) has no GGUF files." }
        let encoders = entries.filter { entry in
            entry.path.lowercased().hasSuffix(".gguf")
                && ModelFolder.isImageEncoder(String(entry.path.split(separator: "/").last ?? ""))
        }
        let rows =
            list.map { [$0.name, size($0.bytes), $0.path] }
            + encoders.map { ["image encoder", size($0.bytes), $0.path] }
        var lines = ["It has:", table([["QUANTIZATION", "SIZE", "FILE"]] + rows)]
        lines.append("To download one: shim pull hf:\(owner)/\(name):\(list[0].name)")
        if let encoder = encoders.first {
            lines.append("and an image encoder: shim pull hf:\(owner)/\(name)/\(encoder.path)")
        }
        return lines.joined(separator: "\n")
    }
}
