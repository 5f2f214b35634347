import CommandLineParsing
import Foundation
import HTTP
import TestSupport
import Testing

@testable import Shim

@Suite(.timeLimit(.minutes(2))) struct RequestLogTests {
    /// The lines that a server writes about one exchange.
    private func lines(_ door: FrontDoor, _ request: String) async throws -> [String] {
        let directory = try TemporaryDirectory()
        let file = try directory.write([], as: "log")
        let log = requestLog(to: file)
        try await withServer(door.respond, log: log) { port in
            _ = try await exchange(port, request)
            // The record comes when the answer has gone, so maybe after the client has it.
            for _ in 0..<400 where try Data(contentsOf: URL(fileURLWithPath: file)).isEmpty {
                try await Task.sleep(for: .milliseconds(10))
                log.flush()
            }
        }
        return try withExtendedLifetime(directory) {
            try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
        }
    }

    @Test func `a warning is logged once, though clients repeat their schemas`() async throws {
        let door = FrontDoor(keys: try apiKeys(), origins: .init()) { context in
            context.trace.warn("tools[0]: ignored")
            return .text("")
        }
        let directory = try TemporaryDirectory()
        let file = try directory.write([], as: "log")
        let log = requestLog(to: file)
        func lines() throws -> [String] {
            try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
        }
        try await withServer(door.respond, log: log) { port in
            for count in 1...2 {
                _ = try await exchange(port, chatRequest(chatBody()))
                for _ in 0..<400 where try lines().count < count {
                    try await Task.sleep(for: .milliseconds(10))
                    log.flush()
                }
            }
        }
        let warnings = try withExtendedLifetime(directory) {
            try lines().map { try fields($0)["warnings"] as? [String] }
        }
        #expect(warnings == [["tools[0]: ignored"], nil])
    }

    private func fields(_ line: String?) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data((line ?? "").utf8)) as? [String: Any])
    }

    @Test func `a line of JSON has what is known of a request`() async throws {
        let door = FrontDoor(keys: try apiKeys(), origins: .init()) { context in
            context.trace.model = "m"
            context.trace.addPromptTokens(7)
            return .text(String(decoding: context.body, as: UTF8.self))
        }
        let lines = try await lines(door, chatRequest(chatBody()))
        #expect(lines.count == 1)
        let line = try fields(lines.first)
        let text = lines.first ?? ""
        #expect(line["method"] as? String == "POST")
        #expect(line["path"] as? String == "/v1/chat/completions")
        #expect(line["status"] as? Int == 200)
        #expect((line["id"] as? String)?.hasPrefix("req_") == true)
        #expect((line["client"] as? String)?.hasPrefix("127.0.0.1:") == true)
        #expect((line["bytes"] as? Int ?? 0) > chatBody().utf8.count)
        #expect((line["duration_ms"] as? Double ?? 0) >= (line["first_byte_ms"] as? Double ?? .infinity))
        #expect(line["model"] as? String == "m")
        #expect(line["prompt_tokens"] as? Int == 7)
        #expect((line["time"] as? String)?.hasSuffix("Z") == true)
        #expect(line["code"] == nil && line["failure"] == nil && line["request"] == nil)
        #expect(text.contains(#""status":200,"#))
        #expect(!text.contains("Hi"))
    }

    @Test func `an error has its code, and one that nobody foresaw all it says`() async throws {
        struct Surprise: Error { var detail = "disk on fire" }
        let refused = try await lines(FrontDoor(keys: apiKeys("sk-one")), chatRequest(chatBody()))
        #expect(try fields(refused.first)["code"] as? String == "invalid_api_key")
        #expect(try fields(refused.first)["status"] as? Int == 401)
        let broken = try await lines(
            FrontDoor(keys: apiKeys(), origins: .init()) { _ in throw Surprise() }, chatRequest(chatBody()))
        #expect(try fields(broken.first)["status"] as? Int == 500)
        #expect((try fields(broken.first)["error"] as? String)?.contains("disk on fire") == true)
        let rubbish = try await lines(FrontDoor(keys: apiKeys()), "rubbish\r\n")
        #expect(try fields(rubbish.first)["code"] as? String == "malformed_request")
        #expect(try fields(rubbish.first)["path"] == nil)
    }

    @Test func `prompts are there only if asked for`() async throws {
        let lines = try await lines(FrontDoor(keys: apiKeys(), logsPrompts: true), chatRequest(chatBody()))
        #expect(try fields(lines.first)["request"] as? String == chatBody())
    }

    @Test(arguments: [
        ("%0d%0a%7b%22status%22%3a200%7d", "\r\n{\"status\":200}"), ("%1b%5b2J", "\u{1b}[2J"),
        ("%c2%9b2J", "\u{9b}2J"), ("%c2%85x", "\u{85}x"), ("%e2%80%a8x", "\u{2028}x"), ("%e2%80%ae", "\u{202e}"),
        ("%7f", "\u{7f}"), ("%f3%a0%80%81", "\u{e0001}"), ("%22%5c", "\"\\"), ("b%c3%b6se", "böse"),
    ])
    func `nothing in a request can begin a line or move a cursor`(_ encoded: String, _ text: String) async throws {
        let lines = try await lines(
            FrontDoor(keys: apiKeys()), "GET /\(encoded) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(lines.count == 1)
        let line = lines.first ?? ""
        #expect(try fields(line)["path"] as? String == "/" + text)
        let raw = line.unicodeScalars.filter {
            [.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
        }
        #expect(raw.isEmpty)
        #expect(line.contains("böse") == (text == "böse"))
    }

    /// The reader of a pipe that has stopped: what it can hold is written, what waits is bounded, the rest is counted.
    @Test func `a log that nobody reads stops nothing, and says later what it lost`() async throws {
        let pipe = Pipe()
        let log = RequestLog(LogWriter(pipe.fileHandleForWriting.fileDescriptor))
        let record = try await oneRecord()
        let total = 8000
        for _ in 0..<total { log.write(record) }
        async let read = onThread { try pipe.fileHandleForReading.readToEnd() ?? Data() }
        try await onThread {
            log.flush(patience: .seconds(60))
            log.write(record)
            log.flush(patience: .seconds(60))
            try pipe.fileHandleForWriting.close()
        }
        let text = String(decoding: try await read, as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        let dropped = try lines.compactMap { try fields($0)["dropped_lines"] as? Int }.reduce(0, +)
        #expect(dropped > 0)
        #expect(lines.count + dropped == total + 1)
    }

    // Older versions of swift-testing run no test in a process of its own.
    #if compiler(>=6.2)
        /// In a process of its own, which the signal of a closed pipe would end.
        @Test func `a log whose reader is gone ends nothing`() async {
            await #expect(processExitsWith: .success) {
                signal(SIGPIPE, SIG_IGN)
                let pipe = Pipe()
                try pipe.fileHandleForReading.close()
                let descriptor = pipe.fileHandleForWriting.fileDescriptor
                guard !writeAll([1, 2, 3], to: descriptor) else { exit(1) }
                let writer = LogWriter(descriptor)
                for _ in 0..<100 {
                    guard writer.write(Array(repeating: 0x61, count: 1000)) else { exit(2) }
                    writer.flush()
                }
                exit(0)
            }
        }
    #endif

    @Test func `a reader that is stuck does not keep the server from stopping`() async throws {
        let pipe = Pipe()
        let writer = LogWriter(pipe.fileHandleForWriting.fileDescriptor)
        // More than a pipe holds.
        #expect(writer.write(Array(repeating: 0x61, count: 1 << 20)))
        #expect(!writer.write([0x62]))
        writer.flush(patience: .milliseconds(50))
        #expect(!writer.write([0x62]))
        let count = try await onThread { try pipe.fileHandleForReading.read(upToCount: 1 << 20)?.count }
        #expect(count == 1 << 20)
    }

    private func oneRecord() async throws -> RequestRecord {
        let (stream, continuation) = AsyncStream<RequestRecord>.makeStream()
        let server = try await Server.start(
            .init(host: "127.0.0.1", port: 0, log: { continuation.yield($0) }), handler: { _ in .text("ok") })
        _ = try await exchange(server.port, "GET /\(String(repeating: "x", count: 200)) HTTP/1.0\r\n\r\n")
        var records = stream.makeAsyncIterator()
        let record = await records.next()
        await server.stop(within: .zero)
        return try #require(record)
    }
}
