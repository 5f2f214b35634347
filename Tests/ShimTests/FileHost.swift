import Foundation
import HTTP
import Synchronization
import TestSupport

@testable import Shim

/// A server with files to download, which remembers what it was asked.
final class FileHost: Sendable {
    struct Files: Sendable {
        /// By path.
        var contents: [String: [UInt8]] = [:]
        var etag = #""v1""#
        var takesRanges = true
        /// Bytes after which a body breaks off.
        var cut: Int?
        /// Where paths lead, and what is said of the file on the way.
        var redirects: [String: (location: String, linkedTag: String?)] = [:]
        /// Answered in place of everything else.
        var status: Int?
    }

    private struct Cut: Error {}

    let files: Mutex<Files>
    let requests = Mutex<[Request]>([])

    init(_ files: Files) { self.files = Mutex(files) }

    convenience init(_ contents: [UInt8], at path: String) { self.init(Files(contents: [path: contents])) }

    var last: Request? { requests.withLock { $0.last } }

    /// Runs the host on a free port of this machine.
    func run<T: Sendable>(_ body: (URL) async throws -> T) async throws -> T {
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0)) { [self] in answer($0) }
        let url = URL(string: "http://127.0.0.1:\(server.port)")!
        let result: Result<T, any Error>
        do { result = .success(try await body(url)) } catch { result = .failure(error) }
        await server.stop(within: .zero)
        return try result.get()
    }

    private func answer(_ request: Request) -> Response {
        requests.withLock { $0.append(request) }
        let files = files.withLock { $0 }
        if let status = files.status { return .text("no", status: status) }
        if let (location, tag) = files.redirects[request.path] {
            var headers: Headers = ["Location": location]
            if let tag { headers["X-Linked-ETag"] = tag }
            return Response(status: 302, headers: headers)
        }
        guard let whole = files.contents[request.path] else { return .text("nothing here", status: 404) }
        var headers: Headers = ["ETag": files.etag]
        guard files.takesRanges, let first = firstByte(request), request.headers["If-Range"] == files.etag else {
            return response(200, headers, whole[...], files.cut)
        }
        guard first < whole.count else {
            headers["Content-Range"] = "bytes */\(whole.count)"
            return Response(status: 416, headers: headers)
        }
        headers["Content-Range"] = "bytes \(first)-\(whole.count - 1)/\(whole.count)"
        return response(206, headers, whole[first...], files.cut)
    }

    private func firstByte(_ request: Request) -> Int? {
        request.headers["Range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
    }

    private func response(_ status: Int, _ headers: Headers, _ body: ArraySlice<UInt8>, _ cut: Int?) -> Response {
        guard let cut else { return Response(status: status, headers: headers, body: .bytes(Array(body))) }
        return Response(
            status: status, headers: headers,
            body: .stream { writer in
                try await writer.write(body.prefix(cut))
                throw Cut()
            })
    }
}

/// Answers every connection with the same bytes, whatever it is asked, and closes it.
final class RawHost: Sendable {
    let url: URL
    /// Connections so far.
    let asked = Counter()
    private let listener: SocketListener

    init(_ answer: String) throws {
        let listener = try SocketListener()
        self.listener = listener
        url = URL(string: "http://127.0.0.1:\(listener.port)")!
        Thread.detachNewThread { [asked] in
            while let client = try? listener.accept() {
                asked.add()
                // A connection that sends nothing keeps no other waiting.
                Thread.detachNewThread {
                    _ = try? client.receive()
                    try? client.send(answer)
                }
            }
        }
    }

    deinit { listener.stop() }
}

/// Counts from any thread.
final class Counter: Sendable {
    private let state = Mutex(0)
    var value: Int { state.withLock { $0 } }
    func add(_ number: Int = 1) { state.withLock { $0 += number } }
}
