import Foundation
import HTTP
import TestSupport
import Testing

@testable import Shim

@Suite(.timeLimit(.minutes(5))) struct UpstreamStreamTests {
    private let local = router(ScriptedLanguageModel())

    @Test func `streams come through byte for byte, however they are cut`() async throws {
        let text =
            ": ping\r\n\r\nevent: x\ndata: {\"a\":\ndata: \"ö\"}\nid: 7\n\ndata: {}\r\rdata:[1]\n\n"
            + "data: [DONE]\n\n"
        let bytes = Array(text.utf8)
        let fake = FakeUpstream { _ in
            Response(
                status: 200, headers: ["Content-Type": "text/event-stream"],
                body: .stream { writer in for byte in bytes { try await writer.write([byte]) } })
        }
        let request = chatRequest(chatBody(#""stream":true"#, model: "gpt-x"))
        let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), request) }
        #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
        #expect(reply.header("Content-Type") == "text/event-stream")
        #expect(reply.body == text)
    }

    @Test func `a stream that breaks off ends with an error, after whole events`() async throws {
        let first = "data: {\"choices\":[]}\n\n"
        for isClean in [false, true] {
            let fake = FakeUpstream { _ in
                events([first, "data: {\"cho"]) { _ in if !isClean { throw Broken() } }
            }
            let request = chatRequest(chatBody(#""stream":true"#, model: "gpt-x"))
            let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), request) }
            #expect(reply.body.hasPrefix(first + "data: {\"error\":"))
            #expect(reply.body.contains("upstream_error"))
            #expect(!reply.body.contains("[DONE]") && !reply.body.contains("\"cho\""))
        }
        let missing = FakeUpstream { _ in events([first]) }
        let request = chatRequest(chatBody(#""stream":true"#, model: "gpt-x"))
        let reply = try await missing.run { try await throughDoor(local.with(upstream: $0), request) }
        #expect(EventStream(reply.text).error?["code"] as? String == "upstream_error")
    }

    @Test func `in a stream of responses the error has its event`() async throws {
        let fake = FakeUpstream { _ in events(["event: a\ndata: {}\n\n"]) { _ in throw Broken() } }
        let request = post("/v1/responses", #"{"model":"other","input":"x","stream":true}"#)
        let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), request) }
        #expect(reply.body.hasPrefix("event: a\ndata: {}\n\nevent: error\ndata: {"))
        #expect(reply.body.contains(#""type":"error""#))
        // The upstream's connection ends as it should, but nothing has said that the answer is whole.
        let cut = FakeUpstream { _ in events(["event: a\ndata: {}\n\n"]) }
        let unfinished = try await cut.run { try await throughDoor(local.with(upstream: $0), request) }
        #expect(unfinished.body.hasPrefix("event: a\ndata: {}\n\nevent: error\ndata: {"))
        let text = "data: {\"type\":\"response.created\"}\n\ndata: {\"type\":\"response.completed\"}\n\n"
        let whole = FakeUpstream { _ in events([text]) }
        let clean = try await whole.run { try await throughDoor(local.with(upstream: $0), request) }
        #expect(clean.body == text)
    }

    @Test(arguments: [
        #"{"error":{"message":"no "# + upstreamKey + #"","code":"x"}}"#,
        #"{"type":"error","message":"no "# + upstreamKey + #"","code":"x"}"#,
    ])
    func `an error that is an event is the last, and before any other no event`(_ error: String) async throws {
        let request = chatRequest(chatBody(#""stream":true"#, model: "g"))
        for begun in ["", "data: {\"error\":null}\n\n"] {
            let fake = FakeUpstream { _ in events([begun + "data: \(error)\n\n", "data: [DONE]\n\n"]) }
            let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), request) }
            #expect(reply.status == (begun.isEmpty ? 502 : 200))
            let told = #"{"error":{"code":"x","message":"no …","param":null,"type":"server_error"}}"#
            #expect(reply.body == (begun.isEmpty ? told : begun + "data: \(told)\n\n"))
        }
    }

    @Test func `what is not UTF-8 is no answer`() async throws {
        let bytes = [UInt8]("data: {\"a\":\"".utf8) + [0xff] + "\"}\n\ndata: [DONE]\n\n".utf8
        let utf16 = Array(try #require(completion.data(using: .utf16LittleEndian)))
        let fake = FakeUpstream { request in
            let streams = String(decoding: request.body.bytes ?? [], as: UTF8.self).contains("stream")
            return Response(
                status: 200, headers: ["Content-Type": streams ? "text/event-stream" : "application/json"],
                body: .bytes(streams ? bytes : utf16))
        }
        for fields in ["", #""stream":true"#] {
            let request = chatRequest(chatBody(fields, model: "g"))
            let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), request) }
            #expect(reply.status == 502 && reply.errorCode == "upstream_error")
        }
    }

    @Test(arguments: ["data: <html>\n\n", "data: {\"a\":\n\n", "data: 1\n\n"])
    func `an event that is no JSON ends the stream`(
        _ garbage: String
    ) async throws {
        let fake = FakeUpstream { _ in events(["data: {}\n\n" + garbage, "data: {}\n\ndata: [DONE]\n\n"]) }
        let request = chatRequest(chatBody(#""stream":true"#, model: "g"))
        let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), request) }
        #expect(reply.body.hasPrefix("data: {}\n\ndata: {\"error\":"))
        #expect(!reply.body.contains("[DONE]"))
    }
}
