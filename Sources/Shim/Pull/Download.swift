import CommandLineParsing
import Cryptography
import Foundation
import HTTP
import LocalLLM
import Wire

/// Downloads one file into a folder, resuming an earlier attempt.
struct Download {
    let file: PullSource.File
    let directory: URL
    /// Whether the file must be a GGUF model, or a part of one.
    var isGGUF = true
    /// Expected SHA-256 of the file.
    var sha256: String?
    /// Sent to the hub only, not to hosts that it redirects to.
    var token: String?
    var hub = PullSource.hub
    /// Called with the size of the whole file before the first byte is received, if the server tells it.
    var begins: (_ bytes: Int) -> Void = { _ in }
    var progress: (_ count: Int, _ total: Int?) -> Void = { _, _ in }

    /// Bytes to keep free on the disk.
    var keptBytes = 256 << 20

    /// Larger sizes are taken for a server's error.
    static let maximumBytes = 1 << 44
    /// Bytes between two checks of the free space.
    private static let checkedBytes = 64 << 20

    /// A complete and checked file, still named `.part`.
    struct Result {
        let part: PartFile
        /// Whether it was compared with an expected digest.
        let isVerified: Bool
    }

    /// - Throws: `PullError`, `CancellationError`. Received bytes are kept for the next attempt unless they are wrong.
    func run() async throws -> Result {
        let part = try PartFile(for: directory.appendingPathComponent(file.name))
        do {
            return try await run(part)
        } catch {
            if part.count == 0 { part.remove() }
            throw error
        }
    }

    private func run(_ part: PartFile) async throws -> Result {
        var (reply, linked) = try await ask(for: part)
        if reply.status == 416, !isWhole(part, reply) {
            try part.restart(etag: nil)
            (reply, linked) = try await ask(for: part)
        }
        try await receive(reply, into: part)
        for expected in [sha256, linked].compactMap({ $0 }) where expected != part.sha256 {
            let found = part.sha256
            part.remove()
            throw PullError("\(file.name) has the wrong SHA-256 and was removed: expected \(expected), found \(found).")
        }
        do {
            if isGGUF { try LocalModel.checkHeader(of: part.url) }
        } catch {
            part.remove()
            throw PullError("\(file.url) is not a readable model. \(error.message)")
        }
        return Result(part: part, isVerified: sha256 != nil || linked != nil)
    }

    // MARK: Asking

    /// Requests the file, following redirects.
    ///
    /// - Returns: The response and the digest that the hub reports.
    private func ask(for part: PartFile) async throws -> (ClientResponse, linked: String?) {
        var linked: String?
        /// The entity tag is the SHA-256 for files in large file storage; others have shorter tags.
        func note(_ reply: ClientResponse, of url: URL) {
            guard linked == nil, url.hasSameOrigin(as: hub) else { return }
            linked = (reply.headers["X-Linked-ETag"] ?? reply.headers["ETag"]).flatMap(SHA256.digest)
        }
        var host = file.url.host()
        do {
            let (reply, url) = try await HTTPClient.get(file.url, limits: .download) {
                headers($0, for: part)
            } redirect: {
                (reply, url, place) in
                note(reply, of: url)
                guard let place, place.isFetchable(from: url) else {
                    throw PullError(
                        "\(url) redirects to '\(reply.headers["Location"] ?? "")', which is not https; not followed.")
                }
                host = place.host()
            }
            note(reply, of: url)
            return (reply, linked)
        } catch let error where error is ClientError || error is NetworkError {
            throw PullError("The request to \(host ?? "") failed: \(error)")
        }
    }

    private func headers(_ url: URL, for part: PartFile) -> Headers {
        var headers: Headers = ["User-Agent": "localllm/\(version)", "Accept-Encoding": "identity"]
        if part.count > 0, let etag = part.etag {
            headers["Range"] = "bytes=\(part.count)-"
            headers["If-Range"] = etag
        }
        if let token, url.hasSameOrigin(as: hub) { headers["Authorization"] = "Bearer \(token)" }
        return headers
    }

    /// Whether a 416 response confirms that the part is the whole file.
    private func isWhole(_ part: PartFile, _ reply: ClientResponse) -> Bool {
        reply.headers["Content-Range"].map { $0.hasSameBytes(as: "bytes */\(part.count)") } ?? false
    }

    // MARK: Receiving

    private func receive(_ reply: ClientResponse, into part: PartFile) async throws {
        switch reply.status {
        case 200:
            // The whole file: the server ignores ranges, or the file has changed. A weak tag does not identify the
            // bytes.
            try part.restart(etag: reply.headers["ETag"].flatMap { $0.utf8.starts(with: "W/".utf8) ? nil : $0 })
        case 206:
            guard reply.headers["Content-Range"]?.utf8.starts(with: "bytes \(part.count)-".utf8) == true else {
                throw PullError(
                    "\(file.url): the server did not resume at byte \(part.count) as requested.")
            }
        case 416 where isWhole(part, reply): return
        case 401, 403:
            throw PullError(
                "Access to \(file.url) denied (status \(reply.status)). "
                    + (token == nil
                        ? "If it needs an account, set HF_TOKEN to its token." : "HF_TOKEN was sent."))
        case 404: throw PullError("No such file: \(file.url) (status 404).")
        default: throw PullError("\(file.url) cannot be downloaded: status \(reply.status).")
        }
        let total = try Self.total(reply.headers["Content-Length"], after: part.count, of: file.url)
        try checkSpace(for: (total ?? part.count) - part.count)
        if let total { begins(total) }
        try await write(reply, to: part, total: total)
    }

    /// Bytes of the whole file; `nil` without `Content-Length`.
    ///
    /// - Parameter count: Bytes already received.
    static func total(_ contentLength: String?, after count: Int, of url: URL) throws(PullError) -> Int? {
        guard let contentLength else { return nil }
        guard let length = Int(contentLength), (0...maximumBytes).contains(length) else {
            throw PullError("\(url): invalid Content-Length: \(contentLength).")
        }
        return count + length
    }

    private func write(_ reply: ClientResponse, to part: PartFile, total: Int?) async throws {
        progress(part.count, total)
        let again = "Run the same command again to resume."
        do {
            // Check the header of a model as it grows, to stop early if it cannot be used.
            var (nextLook, isKnown) = (part.count + (64 << 10), !isGGUF || ModelFolder.isImageEncoder(file.name))
            var nextCheck = part.count
            while let data = try await reply.next() {
                if part.count + data.count > total ?? Self.maximumBytes {
                    part.remove()
                    throw PullError("\(file.name): the server sent more bytes than announced.")
                }
                // Check again and again: others write to the disk too, and the total may be unknown.
                if part.count >= nextCheck {
                    nextCheck = part.count + Self.checkedBytes
                    do { try checkSpace(for: Self.checkedBytes) } catch {
                        if total == nil { part.remove() }
                        throw error
                    }
                }
                try part.append(data)
                progress(part.count, total)
                guard !isKnown, part.count >= nextLook else { continue }
                nextLook = part.count * 2
                do throws(ModelFileError) { isKnown = try LocalModel.checkBeginning(of: part.url) } catch {
                    part.remove()
                    throw PullError("\(file.name) was not downloaded. \(error.message)")
                }
            }
        } catch let error where !(error is PullError || error is CancellationError) {
            throw PullError("\(file.name): interrupted at \(size(part.count)): \(error). \(again)")
        }
        if let total, part.count != total {
            throw PullError("\(file.name): interrupted at \(size(part.count)) of \(size(total)). \(again)")
        }
    }

    private func checkSpace(for bytes: Int) throws {
        let free = try FileManager.default.attributesOfFileSystem(forPath: directory.path)[.systemFreeSize] as? Int
        if let free, free - bytes < keptBytes {
            throw PullError(
                "\(file.name) needs \(size(bytes)) in \(directory.path), where \(size(free)) are free and "
                    + "\(size(keptBytes)) must stay free.")
        }
    }
}

extension HTTPClient.Limits {
    /// Limits for downloads that take hours.
    static var download: Self {
        var limits = Self()
        limits.silence = .seconds(60)
        limits.whole = .seconds(7 * 24 * 3600)
        return limits
    }
}
