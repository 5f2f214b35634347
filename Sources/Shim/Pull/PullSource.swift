import CommandLineParsing
import Foundation
import HTTP
import LocalLLM

/// The files that `shim pull` downloads: one, or all parts of a split model.
struct PullSource: Equatable {
    struct File: Equatable {
        let url: URL
        /// A file name that is safe in any folder.
        let name: String
    }

    /// Hugging Face.
    static let hub = URL(string: "https://huggingface.co")!

    /// The file, or the parts in order.
    let files: [File]

    /// - Parameters:
    ///   - text: A URL, or `hf:OWNER/REPOSITORY/FILE[@REVISION]`; for a split model, any part.
    ///   - hub: Base URL of `hf:`; tests pass their own.
    init(_ text: String, hub: URL = Self.hub) throws(UsageError) {
        let url = text.utf8.starts(with: "hf:".utf8) ? try Self.hubURL(text, hub) : try Self.plainURL(text)
        // `lastPathComponent` of Swift 6.0 is not decoded.
        let segment = url.path(percentEncoded: true).split(separator: "/").last
        let name = segment?.removingPercentEncoding ?? ""
        guard Self.isSafe(name), name.utf8.count > 5, name.utf8.suffix(5).elementsEqual(".gguf".utf8) else {
            throw UsageError("'\(text)': expected a file whose name ends in .gguf, found '\(name)'")
        }
        let folder = url.deletingLastPathComponent()
        files =
            SplitName(name).map { split in
                split.all.map { File(url: folder.appendingPathComponent($0).keepingQuery(of: url), name: $0) }
            } ?? [File(url: url, name: name)]
    }

    /// A URL, or a file or repository in the form that begins with `hf:`, for what people write: `OWNER/REPOSITORY`, an
    /// address at hf.co, or a name of `KnownModel`.
    static func meant(by text: String) throws(UsageError) -> String {
        let lowered = text.lowercased()
        let hosts = ["hf.co/", "huggingface.co/"].flatMap { [$0, "https://" + $0] } + ["hf:"]
        if let host = hosts.first(where: { lowered.hasPrefix($0) }), !lowered.contains("/resolve/") {
            let path = text.dropFirst(host.count)
            return "hf:" + (lowered.hasSuffix(":latest") ? path.dropLast(7) : path)
        }
        if text.contains("://") { return text }
        if let known = KnownModel.named(text) { return known.source }
        if text.contains("/"), !text.hasPrefix("/"), !text.hasPrefix(".") { return "hf:" + text }
        // A family's name is as near as its models' names are without their sizes.
        let names = KnownModel.all.map(\.name)
        let near =
            nearestWord(to: text, in: names.reversed() + KnownModel.families).map { "; did you mean \($0)?" } ?? ""
        throw UsageError(
            "'\(text)': expected a URL, OWNER/REPOSITORY at Hugging Face, or a name that `shim pull --help` lists\(near)"
        )
    }

    /// Whether a file or folder with this name stays in its folder, and can be seen and typed there.
    static func isSafe(_ name: String) -> Bool {
        let isPrintable = name.unicodeScalars.allSatisfy {
            $0 != "/" && $0 != "\\" && $0.properties.generalCategory != .control
                && $0.properties.generalCategory != .format
        }
        return isPrintable && !name.utf8.starts(with: ".".utf8) && !name.utf8.starts(with: "-".utf8)
            && (1...200).contains(name.utf8.count)
    }

    private static func plainURL(_ text: String) throws(UsageError) -> URL {
        guard let url = URL(string: text), url.isFetchable() else {
            throw UsageError(
                "'\(text)': expected https://HOST/FILE.gguf or hf:OWNER/REPOSITORY/FILE.gguf (plain http only from this machine)"
            )
        }
        return url
    }

    static func hubURL(_ text: String, _ hub: URL) throws(UsageError) -> URL {
        var path = text.dropFirst(3)
        var revision: Substring = "main"
        if let at = path.lastIndex(of: "@") {
            revision = path[path.index(after: at)...]
            path = path[..<at]
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 3, !revision.isEmpty, parts.allSatisfy({ !["", ".", ".."].contains($0) }) else {
            throw UsageError("'\(text)': expected hf:OWNER/REPOSITORY/FILE.gguf, with @REVISION if it is not main")
        }
        let segments = parts[..<2] + ["resolve", revision] + parts[2...]
        // A revision such as refs/pr/1 is one segment.
        let encoded = segments.map { $0.addingPercentEncoding(withAllowedCharacters: .unreserved) ?? "" }
        var components = URLComponents(url: hub, resolvingAgainstBaseURL: false)
        components?.percentEncodedPath = "/" + encoded.joined(separator: "/")
        guard let url = components?.url else { throw UsageError("'\(text)' is not a valid URL") }
        return url
    }
}

extension CharacterSet {
    /// RFC 3986, 2.3.
    fileprivate static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

extension URL {
    /// Whether the transfer is protected: HTTPS, or plain HTTP from this machine.
    ///
    /// - Parameter previous: The URL that redirected here; HTTPS may not redirect to plain HTTP.
    func isFetchable(from previous: URL? = nil) -> Bool {
        guard let host = host(), !host.isEmpty else { return false }
        switch scheme {
        case "https": return true
        case "http": return isLoopback(host) && previous?.scheme != "https"
        default: return false
        }
    }

    /// Compares scheme, host and port, to which a token is bound.
    func hasSameOrigin(as other: URL) -> Bool {
        scheme == other.scheme && host()?.lowercased() == other.host()?.lowercased()
            && effectivePort == other.effectivePort
    }

    private var effectivePort: Int? { port ?? (scheme == "https" ? 443 : scheme == "http" ? 80 : nil) }

    fileprivate func keepingQuery(of other: URL) -> URL {
        var components = URLComponents(url: self, resolvingAgainstBaseURL: false)
        components?.percentEncodedQuery = other.query(percentEncoded: true)
        return components?.url ?? self
    }
}
