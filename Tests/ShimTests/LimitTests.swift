import Foundation
import HTTP
import TestSupport
import Testing

@testable import Shim

/// Each limit on what one client may cost, as a client meets it: a status and OpenAI's error body.
@Suite(.timeLimit(.minutes(2))) struct LimitTests {
    private func error(_ text: String, limits: Limits = .init()) async throws -> (status: Int?, error: [String: Any]) {
        let services = router(ScriptedLanguageModel())
        let door = FrontDoor(keys: try apiKeys(), origins: .init()) { try await runHandler($0, services) }
        let answer = try await withServer(door.respond, limits: limits) { try await exchange($0, text) }
        let body = answer.components(separatedBy: "\r\n\r\n").last ?? ""
        let json = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: [String: Any]]
        return (Int(answer.dropFirst(9).prefix(3)), json?["error"] ?? [:])
    }

    private func check(
        _ text: String, _ status: Int, _ code: String?, _ words: String, limits: Limits = .init()
    ) async throws {
        let answer = try await error(text, limits: limits)
        #expect(answer.status == status)
        #expect(Set(answer.error.keys) == ["message", "type", "param", "code"])
        #expect(answer.error["type"] as? String == "invalid_request_error")
        #expect(answer.error["code"] as? String == code)
        #expect((answer.error["message"] as? String)?.contains(words) == true)
    }

    private let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"

    @Test func `a request line and headers`() async throws {
        let long = String(repeating: "x", count: 40_000)
        try await check("GET /\(long)", 414, "uri_too_long", "request line")
        try await check(head + "X: \(long)\r\n\r\n", 431, "headers_too_large", "headers")
        try await check(head + String(repeating: "X: y\r\n", count: 100), 431, "headers_too_large", "headers")
    }

    @Test func `a body, by its length and by its chunks`() async throws {
        try await check(head + "Content-Length: 8388609\r\n\r\n", 413, "request_too_large", "8388608 bytes")
        try await check(
            head + "Transfer-Encoding: chunked\r\n\r\n800001\r\n", 413, "request_too_large", "8388608 bytes")
    }

    @Test func `nesting of JSON`() async throws {
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        try await check(chatRequest(#"{"model":"Test-Q4","messages":\#(deep)}"#), 400, nil, "nested more than 128 deep")
    }

    @Test func `time to send a head, and a body`() async throws {
        var limits = Limits()
        (limits.head, limits.bodyGrace) = (.milliseconds(200), .milliseconds(200))
        try await check(head, 408, "request_timeout", "in time", limits: limits)
        try await check(head + "Content-Length: 5\r\n\r\nab", 408, "request_timeout", "in time", limits: limits)
    }

    @Test func `a fault in one request touches no other`() async throws {
        struct Fault: Error {}
        let door = FrontDoor(keys: try apiKeys(), origins: .init()) { context in
            if context.request.path == "/fault" { throw Fault() }
            try await Task.sleep(for: .milliseconds(200))
            return .text("fine")
        }
        try await withServer(door.respond) { port in
            async let running = exchange(port, "GET /other HTTP/1.0\r\n\r\n")
            for _ in 0..<10 {
                let broken = try await exchange(port, "GET /fault HTTP/1.0\r\n\r\n")
                #expect(broken.hasPrefix("HTTP/1.1 500 "))
                #expect(!broken.contains("Fault"))
            }
            #expect(try await running.hasSuffix("fine"))
        }
    }

    // Older versions of swift-testing run no test in a process of its own.
    #if compiler(>=6.2)
        /// In a process of its own, which the second signal ends.
        @Test func `the first signal asks to stop, the second stops at once`() async {
            await #expect(processExitsWith: .exitCode(143)) {
                let signals = StopSignals()
                kill(getpid(), SIGTERM)
                await signals.wait()
                kill(getpid(), SIGTERM)
                try? await Task.sleep(for: .seconds(60))
                exit(0)
            }
        }

        @Test func `a terminal that closes asks to stop, however often it says so`() async {
            await #expect(processExitsWith: .exitCode(7)) {
                signal(SIGHUP, SIG_DFL)
                let signals = StopSignals(stopsOnHangup: true)
                kill(getpid(), SIGHUP)
                await signals.wait()
                kill(getpid(), SIGHUP)
                try? await Task.sleep(for: .milliseconds(200))
                exit(7)
            }
        }

        @Test func `with nohup a terminal that closes says nothing`() async {
            await #expect(processExitsWith: .exitCode(7)) {
                signal(SIGHUP, SIG_IGN)
                let signals = StopSignals(stopsOnHangup: true)
                kill(getpid(), SIGHUP)
                let stopped = Task { await signals.wait() }
                try? await Task.sleep(for: .milliseconds(200))
                stopped.cancel()
                await stopped.value
                kill(getpid(), SIGTERM)
                try? await Task.sleep(for: .milliseconds(200))
                exit(7)
            }
        }
    #endif
}
