import Foundation
import HTTP
import Synchronization
import TestSupport
import Testing

@testable import Shim

@Suite(.timeLimit(.minutes(5))) struct BackpressureTests {
    private let request = chatRequest(chatBody(#""stream":true"#, model: "g"))

    /// What of a stream without end is on its way when its reader has stopped: the kernel's buffers, and an event.
    @Test func `a slow client slows the upstream down, and one that leaves ends it`() async throws {
        let event = Array("data: {\"x\":\"\(String(repeating: "y", count: 1 << 16))\"}\n\n".utf8)
        let (sent, ended) = (Counter(), Counter())
        let fake = FakeUpstream { _ in
            Response(
                status: 200, headers: ["Content-Type": "text/event-stream"],
                body: .stream { writer in
                    defer { ended.add() }
                    while true {
                        try await writer.write(event)
                        sent.add(event.count)
                    }
                })
        }
        try await fake.run { upstream in
            let router = try router(ScriptedLanguageModel()).with(upstream: upstream)
            try await withShim(router) { port in
                let client = try await onThread { [request] in
                    let client = try SocketClient(port: port, receiveBuffer: 1 << 16)
                    try client.send(request)
                    _ = try client.receive(until: "data: ")
                    return client
                }
                var (last, stillness) = (-1, 0)
                while stillness < 10, sent.value < 256 << 20 {
                    stillness = sent.value == last ? stillness + 1 : 0
                    last = sent.value
                    try await Task.sleep(for: .milliseconds(50))
                }
                #expect(sent.value < 64 << 20)
                // Whoever reads again gets more.
                let before = sent.value
                try await onThread {
                    var count = 0
                    while count < 8 << 20 { count += try client.receive().count }
                }
                #expect(await eventually { sent.value > before })
                #expect(ended.value == 0)
                withExtendedLifetime(client) {}
            }
            #expect(await eventually { ended.value == 1 })
        }
    }

    @Test func `a client that leaves before anything has come ends the upstream's work`() async throws {
        let (began, ended) = (Counter(), Counter())
        let fake = FakeUpstream { _ in
            began.add()
            defer { ended.add() }
            try await Task.sleep(for: .seconds(3600))
            throw Broken()
        }
        try await fake.run { upstream in
            try await withShim(router(ScriptedLanguageModel()).with(upstream: upstream)) { port in
                var client: SocketClient? = try SocketClient(port: port)
                try client?.send(request)
                #expect(await eventually { began.value == 1 })
                client = nil
                #expect(await eventually { ended.value == 1 })
            }
        }
    }
}
