import CommandLineParsing
import Foundation
import HTTP
import Synchronization
import TestSupport

@testable import Shim

let upstreamKey = "sk-upstream-0123456789"

/// An API that answers as it is told to, and remembers what it was asked.
final class FakeUpstream: Sendable {
    let requests = Mutex<[Request]>([])
    private let handler: Server.Handler

    init(_ handler: @escaping Server.Handler) { self.handler = handler }

    var count: Int { requests.withLock { $0.count } }
    var last: Request? { requests.withLock { $0.last } }

    /// Runs it on a free port of this machine.
    func run<T: Sendable>(_ body: (UInt16) async throws -> T) async throws -> T {
        try await withServer(
            { [self] request in
                let request = try await request.collected(upTo: .max)
                requests.withLock { $0.append(request) }
                return try await handler(request)
            }, body)
    }
}

/// Options as a command line would give them, with the key.
func upstreamOptions(port: UInt16, _ arguments: [String] = [], key: String? = upstreamKey) throws -> UpstreamOptions {
    let words = ["--upstream", "http://127.0.0.1:\(port)/v1"] + arguments
    var environment: [String: String] = [:]
    environment["LOCALLLM_UPSTREAM_KEY"] = key
    return try UpstreamOptions(Arguments(words, options: UpstreamOptions.all), environment: environment)!
}

/// Time that goes on when it is told to, and pauses that take none.
final class FakeClock: Sendable {
    private let state = Mutex((now: ContinuousClock.now, pauses: 0))

    var pauses: Int { state.withLock { $0.pauses } }
    func advance(by duration: Duration) { state.withLock { $0.now += duration } }

    var tools: Upstream.Tools {
        .init(
            now: { [self] in state.withLock { $0.now } }, sleep: { [self] _ in state.withLock { $0.pauses += 1 } })
    }
}

extension Services {
    /// One whose other engine is at a port. Not inlined: the optimizer of Swift 6.3.1 crashes on that.
    @inline(never)
    func with(
        upstream port: UInt16, _ arguments: String..., timeLimit: Duration = .seconds(600),
        clock: FakeClock = FakeClock()
    ) throws -> Services {
        var router = self
        router.upstream = try Upstream(
            upstreamOptions(port: port, arguments), timeLimit: timeLimit, tools: clock.tools)
        return router
    }
}

/// What a client gets from a router behind the front door, over a socket.
func throughDoor(_ router: Services, _ request: String, log: RequestLog? = nil) async throws -> SocketReply {
    let door = FrontDoor(keys: try apiKeys(), origins: .init()) { try await runHandler($0, router) }
    return SocketReply(try await withServer(door.respond, log: log) { try await exchange($0, request) })
}

/// An answer as it came.
struct SocketReply {
    let text: String
    let head: String
    /// Without its framing; chunks put together.
    let body: String

    init(_ text: String) {
        self.text = text
        let parts = text.components(separatedBy: "\r\n\r\n")
        head = parts[0]
        let rest = parts.dropFirst().joined(separator: "\r\n\r\n")
        body = head.contains("chunked") ? Self.joined(rest) : rest
    }

    private static func joined(_ chunks: String) -> String {
        var (rest, body) = (Array(chunks.utf8)[...], [UInt8]())
        while let end = rest.firstIndex(of: 13),
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), size > 0,
            rest.count >= end - rest.startIndex + 2 + size
        {
            body += rest[(end + 2)..<(end + 2 + size)]
            rest = rest[(end + 2 + size)...].dropFirst(2)
        }
        return String(decoding: body, as: UTF8.self)
    }

    var status: Int { Int(head.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0 }
    var answer: Answer { Answer(status: status, headers: [:], bytes: Array(body.utf8)) }
    var errorCode: String? { answer.error["code"] as? String }

    func header(_ name: String) -> String? {
        head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }
}

let completion = #"{"id":"c","object":"chat.completion","choices":[{"message":{"role":"assistant","content":"Yes"}}]}"#

/// An answer of JSON.
func json(_ text: String, status: Int = 200, headers: Headers = [:]) -> Response {
    var headers = headers
    headers["Content-Type"] = "application/json"
    return Response(status: status, headers: headers, body: .bytes(Array(text.utf8)))
}

/// An answer of events, in these pieces.
func events(
    _ pieces: [String], then end: @escaping @Sendable (ResponseWriter) async throws -> Void = { _ in }
) -> Response {
    Response(
        status: 200, headers: ["Content-Type": "text/event-stream; charset=utf-8"],
        body: .stream { writer in
            for piece in pieces { try await writer.write(piece.utf8) }
            try await end(writer)
        })
}

struct Broken: Error {}
