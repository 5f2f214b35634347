@testable import HTTP
import Synchronization
import TestSupport

/// Runs a server on a free port for the length of a test.
func withServer<T: Sendable>(
    limits: Limits = .init(), host: String = "127.0.0.1", tls: TLSIdentity? = nil,
    log: (@Sendable (RequestRecord) -> Void)? = nil, makeNotes: @escaping @Sendable () -> any Sendable = { () },
    _ handler: @escaping Server.Handler,
    _ body: (Server) async throws -> T
) async throws -> T {
    let server = try await Server.start(
        .init(host: host, port: 0, tls: tls, limits: limits, makeNotes: makeNotes, log: log), handler: handler)
    do {
        let result = try await body(server)
        await server.stop(within: .zero)
        return result
    } catch {
        await server.stop(within: .zero)
        throw error
    }
}

/// What a client receives when it sends `text` and reads until the server closes.
func exchange(_ server: Server, _ text: String) async throws -> String {
    let port = server.port
    return try await onThread {
        let client = try SocketClient(port: port)
        try client.send(text)
        return try client.receiveAll()
    }
}

/// The body of the last response in a text of responses that have a length.
func body(_ response: String) -> String {
    response.split(separator: "\r\n\r\n", omittingEmptySubsequences: false).last.map(String.init) ?? ""
}

func statuses(_ responses: String) -> [Int] {
    responses.split(separator: "HTTP/1.1 ").compactMap { Int($0.prefix(3)) }
}

/// Something that happens once, to wait for.
final class Signal: Sendable {
    private let fired = Mutex(false)
    func fire() { fired.withLock { $0 = true } }
    var hasFired: Bool { fired.withLock { $0 } }

    /// Whether it fires within a time.
    func wait(_ limit: Duration = .seconds(20)) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while !hasFired, .now < deadline { try? await Task.sleep(for: .milliseconds(5)) }
        return hasFired
    }
}

extension Limits {
    init(_ change: (inout Limits) -> Void) {
        self.init()
        change(&self)
    }
}

/// Answers with method, path and body.
let echo: Server.Handler = { request in
    .text(
        "\(request.method) \(request.path) \(String(decoding: try await request.body.collect(upTo: .max), as: UTF8.self))"
    )
}

let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
let getAndClose = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
