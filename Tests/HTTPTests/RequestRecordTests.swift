import Glibc
@testable import HTTP
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct RequestRecordTests {
    /// Collects what a server logs.
    private final class Log: Sendable {
        private let records = Mutex<[RequestRecord]>([])

        @Sendable func add(_ record: RequestRecord) { records.withLock { $0.append(record) } }

        /// The records once there are that many.
        func first(_ count: Int) async -> [RequestRecord] {
            let deadline = ContinuousClock.now + .seconds(20)
            while records.withLock({ $0.count < count }), .now < deadline {
                try? await Task.sleep(for: .milliseconds(5))
            }
            return records.withLock { $0 }
        }
    }

    /// What a handler leaves for the log.
    private final class Notes: Sendable {
        private let all = Mutex<[String]>([])
        var words: [String] { all.withLock { $0 } }
        func add(_ word: String) { all.withLock { $0.append(word) } }
    }

    @Test func `an answered request, with the id that its client got and the bytes that it received`() async throws {
        let log = Log()
        let text = try await withServer(log: log.add, echo) {
            try await exchange($0, "GET /a%0Ab?key=secret HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        }
        let records = await log.first(1)
        #expect(records.count == 1)
        let record = try #require(records.first)
        #expect(text.contains("\r\nX-Request-Id: \(record.id)\r\n"))
        #expect(record.id.utf8.count == 36 && record.id.hasPrefix("req_"))
        #expect((record.method, record.path, record.status) == ("GET", "/a\nb", 200))
        #expect(record.peer.hasPrefix("127.0.0.1:"))
        #expect(record.bytes == text.utf8.count)
        #expect(record.failure == nil)
        let first = try #require(record.timeToFirstByte)
        #expect(first > .zero && first <= record.duration)
    }

    @Test func `each of several requests on one connection has its own`() async throws {
        let log = Log()
        _ = try await withServer(log: log.add, echo) { try await exchange($0, get + get + getAndClose) }
        let records = await log.first(3)
        #expect(records.count == 3)
        #expect(Set(records.map(\.id)).count == 3)
        #expect(records[0].bytes == records[1].bytes)
    }

    @Test func `bytes that are no request, and a body that is too large`() async throws {
        let log = Log()
        try await withServer(limits: Limits { $0.bodyBytes = 5 }, log: log.add, echo) { server async throws in
            _ = try await exchange(server, "rubbish\r\n")
            _ = try await exchange(server, request(["Transfer-Encoding: chunked"], "6\r\n"))
        }
        let records = await log.first(2)
        #expect(records.map(\.status) == [400, 413])
        #expect(records.map(\.method) == [nil, "POST"])
        #expect(records.map(\.path) == [nil, "/"])
    }

    @Test func `a connection without a request leaves no record`() async throws {
        let log = Log()
        try await withServer(log: log.add, echo) { server async throws in
            let port = server.port
            try await onThread { _ = try SocketClient(port: port) }
            _ = try await exchange(server, getAndClose)
        }
        #expect(await log.first(1).count == 1)
    }

    @Test func `a handler and its stream write to the notes that the record hands to the log`() async throws {
        let log = Log()
        _ = try await withServer(
            log: log.add, makeNotes: { Notes() },
            { request in
                let notes = request.notes as? Notes
                notes?.add("handler")
                return Response(
                    status: 200,
                    body: .stream { writer in
                        try await writer.write("a".utf8)
                        notes?.add("stream")
                    })
            }
        ) { try await exchange($0, getAndClose) }
        let notes = await log.first(1).first?.notes as? Notes
        #expect(notes?.words == ["handler", "stream"])
    }

    @Test func `a client that leaves before its answer`() async throws {
        let log = Log()
        let started = Signal()
        try await withServer(
            log: log.add,
            { _ in
                started.fire()
                try await Task.sleep(for: .seconds(60))
                return .text("never")
            }
        ) { server async throws in
            let port = server.port
            try await onThread {
                let client = try SocketClient(port: port)
                try client.send(get)
                for _ in 0..<2000 where !started.hasFired { usleep(10_000) }
            }
            let record = try #require(await log.first(1).first)
            #expect(record.failure == .clientLeft)
            #expect(record.status == nil && record.bytes == 0 && record.timeToFirstByte == nil)
            #expect(record.path == "/")
        }
    }

    @Test func `a stream that breaks off`() async throws {
        struct Broken: Error {}
        let log = Log()
        let text = try await withServer(
            log: log.add,
            { _ in
                Response(
                    status: 200,
                    body: .stream { writer in
                        try await writer.write("a".utf8)
                        throw Broken()
                    })
            }
        ) { try await exchange($0, get) }
        let record = try #require(await log.first(1).first)
        #expect(record.failure == .answerFailed)
        #expect(record.status == 200)
        #expect(record.bytes == text.utf8.count)
    }

    @Test func `an answer that the server's end cut off`() async throws {
        let log = Log()
        let started = Signal()
        let server = try await Server.start(.init(host: "127.0.0.1", port: 0, log: log.add)) { _ in
            started.fire()
            try await Task.sleep(for: .seconds(60))
            return .text("never")
        }
        async let running = exchange(server, get)
        #expect(await started.wait())
        await server.stop(within: .zero)
        _ = try? await running
        #expect(await log.first(1).first?.failure == .serverStopped)
    }

    @Test func `a client that stops reading`() async throws {
        let log = Log()
        try await withServer(
            limits: Limits { $0.writeStall = .milliseconds(300) }, log: log.add,
            { _ in
                Response(
                    status: 200,
                    body: .stream { writer in
                        let block = [UInt8](repeating: 0x61, count: 64 * 1024)
                        while true { try await writer.write(block) }
                    })
            }
        ) { server async throws in
            let port = server.port
            let client = try await onThread {
                let client = try SocketClient(port: port, receiveBuffer: 16 * 1024)
                try client.send(get)
                return client
            }
            #expect(await log.first(1).first?.failure == .clientStalled)
            _ = client
        }
    }
}
