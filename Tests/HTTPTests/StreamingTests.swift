import Glibc
@testable import HTTP
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct StreamingTests {
    private func stream(_ body: @escaping @Sendable (ResponseWriter) async throws -> Void) -> Server.Handler {
        { _ in Response(status: 200, headers: ["Content-Type": "text/event-stream"], body: .stream(body)) }
    }

    @Test func `each write is a chunk that leaves at once, and the connection goes on`() async throws {
        let goOn = Signal()
        let handler = stream { writer in
            try await writer.write("one".utf8)
            #expect(await goOn.wait())
            try await writer.write([])
            try await writer.write("two".utf8)
        }
        try await withServer(handler) { server async throws in
            let port = server.port
            let text = try await onThread {
                let client = try SocketClient(port: port)
                try client.send(get + getAndClose)
                let first = try client.receive(until: "one\r\n")
                goOn.fire()
                return first + (try client.receiveAll())
            }
            #expect(statuses(text) == [200, 200])
            #expect(
                text.hasSuffix(
                    "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))
        }
    }

    @Test func `HTTP 1_0 gets bytes until the connection closes`() async throws {
        let handler = stream { writer in for word in ["a", "b"] { try await writer.write(word.utf8) } }
        let text = try await withServer(handler) {
            try await exchange($0, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        }
        #expect(!text.contains("Transfer-Encoding"))
        #expect(text.hasSuffix("Connection: close\r\n\r\nab"))
    }

    @Test func `a stream that throws is cut, so that it cannot pass for whole`() async throws {
        struct Broken: Error {}
        let handler = stream { writer in
            try await writer.write("a".utf8)
            throw Broken()
        }
        let text = try await withServer(handler) { try await exchange($0, get) }
        #expect(text.hasSuffix("1\r\na\r\n"))
    }

    @Test func `a handler that is silent is cancelled when its client leaves`() async throws {
        let (started, cancelled) = (Signal(), Signal())
        try await withServer({ _ in
            started.fire()
            try await withTaskCancellationHandler {
                try await Task.sleep(for: .seconds(60))
            } onCancel: {
                cancelled.fire()
            }
            return .text("never")
        }) { server async throws in
            let port = server.port
            let client = Mutex<SocketClient?>(nil)
            try await onThread {
                let new = try SocketClient(port: port)
                try new.send(get)
                client.withLock { $0 = new }
            }
            #expect(await started.wait())
            client.withLock { $0 = nil }
            #expect(await cancelled.wait())
        }
    }

    @Test func `a client that leaves during a stream ends it`() async throws {
        let ended = Signal()
        let handler = stream { writer in
            defer { ended.fire() }
            while true {
                try await writer.write("tick\n".utf8)
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        try await withServer(handler) { server async throws in
            let port = server.port
            try await onThread {
                let client = try SocketClient(port: port)
                try client.send(get)
                _ = try client.receive(until: "tick")
            }
            #expect(await ended.wait())
        }
    }

    @Test func `a handler is as fast as its client reads, and a client that stops reading is given up`() async throws {
        let written = Mutex(0)
        let ended = Signal()
        let handler = stream { writer in
            defer { ended.fire() }
            let block = [UInt8](repeating: 0x61, count: 64 * 1024)
            while true {
                try await writer.write(block)
                written.withLock { $0 += block.count }
            }
        }
        try await withServer(limits: Limits { $0.writeStall = .milliseconds(500) }, handler) { server async throws in
            let port = server.port
            let client = try await onThread {
                let client = try SocketClient(port: port, receiveBuffer: 16 * 1024)
                try client.send(get)
                return client
            }
            #expect(await ended.wait())
            #expect(written.withLock { $0 } < 16 << 20)  // what the kernel buffers, and no more
            _ = client
        }
    }

    @Test func `what a client sends during a stream stays in its own kernel`() async throws {
        let handler = stream { writer in
            while true {
                try await writer.write("tick\n".utf8)
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        try await withServer(handler) { server async throws in
            #expect(await bytesPushed(port: server.port) < 32 << 20)
        }
    }

    /// How many of 300 MB a client can push while its first request is answered.
    private func bytesPushed(port: UInt16) async -> Int {
        let sent = Mutex(0)
        _ = try? await onThread {
            let client = try SocketClient(port: port, timeout: 1)
            try client.send(get)
            _ = try client.receive(until: "tick")
            let block = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<300 {
                try client.send(block)
                sent.withLock { $0 += block.count }
            }
        }
        return sent.withLock { $0 }
    }

    @Test func `a writer is dead once its response has ended, and takes one write at a time`() async throws {
        let (seen, failed) = (Seen(), Signal())
        let handler: Server.Handler = { request in
            if request.path == "/second" {
                let writer = seen.writer.withLock { $0 }
                await #expect(throws: ConnectionError.exchangeEnded) { try await writer?.write("smuggled".utf8) }
                return .text("second")
            }
            return Response(
                status: 200,
                body: .stream { writer in
                    seen.keep(writer)
                    // Larger than the kernel's buffers, and the client does not read until one of them has failed.
                    let write: @Sendable () async -> Void = {
                        do {
                            try await writer.write([UInt8](repeating: 0x61, count: 16 << 20))
                        } catch {
                            seen.overlap.withLock { $0 = error }
                            failed.fire()
                        }
                    }
                    async let one: Void = write()
                    async let two: Void = write()
                    _ = await (one, two)
                })
        }
        try await withServer(handler) { server async throws in
            let port = server.port
            let text = try await onThread {
                let client = try SocketClient(port: port, receiveBuffer: 16 * 1024)
                try client.send(get)
                for _ in 0..<2000 where !failed.hasFired { usleep(10_000) }
                try client.send("GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                return try client.receiveAll()
            }
            #expect(seen.overlap.withLock { $0 } as? ConnectionError == .overlappingUse)
            #expect(!text.contains("smuggled"))
            #expect(text.hasSuffix("second"))
        }
    }
}

/// Swift 6.0 crashes on a function that has both a lock and `async let`.
private final class Seen: Sendable {
    let writer = Mutex<ResponseWriter?>(nil)
    let overlap = Mutex<(any Error)?>(nil)

    func keep(_ writer: ResponseWriter) { self.writer.withLock { $0 = writer } }
}
