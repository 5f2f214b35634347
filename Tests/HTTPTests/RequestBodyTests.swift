import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(2))) struct RequestBodyTests {
    private func post(_ framing: String, _ body: String, _ more: String = "Connection: close\r\n") -> String {
        "POST /x HTTP/1.1\r\nHost: a\r\n\(more)\(framing)\r\n\r\n\(body)"
    }

    @Test func `a handler begins when the head is there, and reads the body as it comes`() async throws {
        let parts = Mutex<[String]>([])
        let hasBegun = Signal()
        let handler: Server.Handler = { request in
            #expect(request.body.bytes == nil && request.body.length == 6)
            hasBegun.fire()
            for try await part in request.body.parts(upTo: 6) {
                parts.withLock { $0.append(String(decoding: part, as: UTF8.self)) }
            }
            return .text("done")
        }
        try await withServer(handler) { server async throws in
            let port = server.port
            let client = try await onThread { try SocketClient(port: port) }
            try await onThread { try client.send(post("Content-Length: 6", "")) }
            #expect(await hasBegun.wait())
            for (index, text) in ["ab", "cd", "ef"].enumerated() {
                try await onThread { try client.send(text) }
                while parts.withLock({ $0.count }) <= index { try await Task.sleep(for: .milliseconds(2)) }
            }
            #expect(body(try await onThread { try client.receiveAll() }) == "done")
            #expect(parts.withLock { $0 } == ["ab", "cd", "ef"])
        }
    }

    @Test func `a body that came with its head is in memory, and the connection goes on though nobody read it`()
        async throws
    {
        let handler: Server.Handler = { request in .text("\(request.body.bytes?.count ?? -1) ") }
        try await withServer(handler) { server async throws in
            let text = try await exchange(
                server,
                post("Content-Length: 3", "abc", "") + post("Transfer-Encoding: chunked", "2\r\nab\r\n0\r\n\r\n", "")
                    + getAndClose)
            #expect(statuses(text) == [200, 200, 200])
            #expect(text.contains("3 ") && text.contains("2 ") && text.hasSuffix("0 "))
        }
    }

    @Test(arguments: ["Content-Length: 10", "Transfer-Encoding: chunked"])
    func `each handler sets its limit, within that of the server`(framing: String) async throws {
        let content = framing.hasPrefix("Content") ? "0123456789" : "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"
        for (limit, status) in [(10, 200), (9, 413), (0, 413)] {
            let handler: Server.Handler = { request in
                .text(String(decoding: try await request.body.collect(upTo: limit), as: UTF8.self))
            }
            try await withServer(handler) { server async throws in
                // At once, and after the head.
                let port = server.port
                #expect(statuses(try await exchange(server, post(framing, content))) == [status], "\(limit)")
                let later = try await onThread {
                    let client = try SocketClient(port: port)
                    try client.send(post(framing, ""))
                    for character in content { try? client.send(String(character)) }
                    return try client.receiveAll()
                }
                #expect(statuses(later) == [status], "\(limit)")
                if status == 200 { #expect(body(later) == "0123456789") }
            }
        }
        // A chunk is refused by its size, before its data come.
        let handler: Server.Handler = { .text("\(try await $0.body.collect(upTo: 9).count)") }
        try await withServer(handler) { server async throws in
            let text = try await exchange(server, post("Transfer-Encoding: chunked", "a\r\n"))
            #expect(statuses(text) == [413])
        }
    }

    @Test func `the client is told to go on when the handler reads`() async throws {
        let reads = Signal()
        let handler: Server.Handler = { request in
            guard request.path == "/x" else { return .text("unread") }
            _ = await reads.wait()
            return .text(String(decoding: try await request.body.collect(upTo: 9), as: UTF8.self))
        }
        try await withServer(handler) { server async throws in
            let port = server.port
            let head = post("Content-Length: 2", "", "Expect: 100-continue\r\nConnection: close\r\n")
            let client = try await onThread {
                let client = try SocketClient(port: port)
                try client.send(head)
                return client
            }
            try await Task.sleep(for: .milliseconds(50))
            reads.fire()
            let text = try await onThread {
                let interim = try client.receive(until: "\r\n\r\n")
                try client.send("hi")
                return interim + (try client.receiveAll())
            }
            #expect(statuses(text) == [100, 200] && text.hasSuffix("hi"))
            // Who is refused is not told to send.
            let refused = try await exchange(server, head.replacing("/x", with: "/y"))
            #expect(statuses(refused) == [200] && refused.contains("Connection: close"))
        }
    }

    @Test func `a body is read by one task, while its handler runs`() async throws {
        let (bodies, kept) = AsyncStream<RequestBody>.makeStream()
        // The client sends the body once one of two reads was refused.
        let refused = DispatchSemaphore(value: 0)
        let handler: Server.Handler = { request in
            kept.yield(request.body)
            @Sendable func outcome() async -> String {
                do {
                    return "got \(try await request.body.collect(upTo: 9).count)"
                } catch {
                    refused.signal()
                    return "\(error)"
                }
            }
            async let other = outcome()
            return .text([await outcome(), await other].sorted().joined(separator: ", "))
        }
        try await withServer(handler) { server async throws in
            let port = server.port
            let text = try await onThread {
                let client = try SocketClient(port: port)
                try client.send(post("Content-Length: 2", ""))
                refused.wait()
                try client.send("hi")
                return try client.receiveAll()
            }
            #expect(text.hasSuffix(["\(ConnectionError.overlappingUse)", "got 2"].sorted().joined(separator: ", ")))
            let late = await bodies.first { _ in true }
            await #expect(throws: ConnectionError.exchangeEnded) { try await late?.collect(upTo: 9) }
        }
    }

    @Test func `whoever leaves in the middle of a body ends its handler`() async throws {
        let ended = Signal()
        let handler: Server.Handler = { request in
            defer { ended.fire() }
            return .text("\(try await request.body.collect(upTo: 99).count)")
        }
        let log = Mutex<[RequestRecord.Failure?]>([])
        try await withServer(log: { record in log.withLock { $0.append(record.failure) } }, handler) {
            server async throws in
            let port = server.port
            try await onThread {
                let client = try SocketClient(port: port)
                try client.send(post("Content-Length: 20", "half"))
            }
            #expect(await ended.wait())
            while log.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(2)) }
            #expect(log.withLock { $0 } == [.clientLeft])
        }
    }

    @Test func `another source of bytes is a body as well`() async throws {
        let pieces = Mutex(["ab", "cde", "f"][...])
        let body = RequestBody(length: nil) { _ in pieces.withLock { $0.popFirst().map { Array($0.utf8) } } }
        #expect(try await body.collect(upTo: 9) == Array("abcdef".utf8))
        #expect(try await RequestBody([]).collect(upTo: 0) == [])
        await #expect(throws: RequestError.self) { try await RequestBody([1, 2]).collect(upTo: 1) }
    }
}
