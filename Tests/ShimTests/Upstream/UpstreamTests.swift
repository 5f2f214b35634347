import Foundation
import HTTP
import Synchronization
import TestSupport
import Testing

@testable import Shim

@Suite(.timeLimit(.minutes(5))) struct UpstreamTests {
    private let local = router(ScriptedLanguageModel())

    @Test func `a model that is not here is asked for upstream, with the server's key`() async throws {
        let fake = FakeUpstream { _ in json(completion) }
        let body = chatBody(#""tools": [{"z":1,"a":2}], "seed":9007199254740993"#, model: "gpt-x")
        let request = chatRequest(body).replacingOccurrences(
            of: "Host:", with: "Authorization: Bearer client-secret\r\nx-api-key: other-secret\r\nCookie: a=b\r\nHost:")
        let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), request) }
        #expect(reply.status == 200)
        #expect(reply.header("x-engine") == "upstream")
        #expect(reply.body == completion)
        let asked = try #require(fake.last)
        #expect(asked.method == "POST" && asked.target == "/v1/chat/completions")
        // Its members are what they were, and in their order.
        #expect(
            String(decoding: asked.body.bytes ?? [], as: UTF8.self)
                == body.replacingOccurrences(of: ", \"", with: ",\"").replacingOccurrences(of: ": [", with: ":["))
        #expect(asked.headers.all("Authorization") == ["Bearer \(upstreamKey)"])
        #expect(asked.headers["x-api-key"] == nil && asked.headers["Cookie"] == nil)
    }

    @Test(arguments: [
        (#""stream": false, "Stream": true"#, #""stream":false"#), (#""STREAM": true, "Model": "h""#, ""),
        (#""\u0073tream": false, "\u017ftream": true"#, #""stream":false"#),
    ])
    func `the upstream reads what was read here`(_ fields: String, _ expected: String) async throws {
        let fake = FakeUpstream { _ in json(completion) }
        let reply = try await fake.run {
            try await throughDoor(local.with(upstream: $0), chatRequest(chatBody(fields, model: "g")))
        }
        #expect(reply.status == 200)
        let asked = String(decoding: try #require(fake.last).body.bytes ?? [], as: UTF8.self)
        let messages = #""messages":[{"role":"user","content":"Hi"}]"#
        #expect(asked == #"{"model":"g",\#(messages)\#(expected.isEmpty ? "" : ",")\#(expected)}"#)
    }

    @Test func `a key that comes twice is refused, and not asked for`() async throws {
        let fake = FakeUpstream { _ in json(completion) }
        let body = chatBody(#""stream": false, "stream": true"#, model: "g")
        try await fake.run { port in
            let router = try local.with(upstream: port)
            for _ in 0...CircuitBreaker.failuresToOpen {
                #expect(try await throughDoor(router, chatRequest(body)).status == 400)
            }
            #expect(router.upstream?.circuit == .closed(failures: 0))
        }
        #expect(fake.count == 0)
    }

    @Test func `a model that is here is asked here`() async throws {
        let fake = FakeUpstream { _ in json(completion) }
        let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), chatRequest(chatBody())) }
        #expect(reply.status == 200 && reply.header("x-engine") == "local")
        #expect(fake.count == 0)
        let alone = try await throughDoor(local, chatRequest(chatBody(model: "gpt-x")))
        #expect(alone.status == 404 && alone.header("x-engine") == "local")
    }

    @Test(arguments: [
        ("/v1/completions", #"{"choices":[]}"#), ("/v1/embeddings", #"{"data":[]}"#),
        ("/v1/responses", #"{"output":[]}"#), ("/v1/images/generations", #"{"data":[]}"#),
    ])
    func `each endpoint is asked for at its own path`(_ path: String, _ answer: String) async throws {
        let fake = FakeUpstream { _ in json(answer) }
        let body = #"{"model":"other","prompt":"x","input":"x"}"#
        let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), post(path, body)) }
        #expect(reply.status == 200 && reply.body == answer && reply.header("x-engine") == "upstream")
        #expect(fake.last?.target == path)
    }

    @Test func `an upstream that is silent for too long is given up`() async throws {
        let silent = FakeUpstream { _ in
            try await Task.sleep(for: .seconds(600))
            throw Broken()
        }
        let early = try await silent.run {
            try await throughDoor(
                local.with(upstream: $0, "--upstream-timeout", "1"), chatRequest(chatBody(model: "g")))
        }
        #expect(early.status == 504 && early.errorCode == "upstream_timeout")
        #expect(early.header("x-engine") == "upstream")
        let stalling = FakeUpstream { _ in
            events(["data: {}\n\n"]) { _ in try await Task.sleep(for: .seconds(600)) }
        }
        let request = chatRequest(chatBody(#""stream":true"#, model: "g"))
        // Long enough for the first event to come from a busy machine.
        let late = try await stalling.run {
            try await throughDoor(local.with(upstream: $0, "--upstream-timeout", "10"), request)
        }
        #expect(late.body.hasPrefix("data: {}\n\ndata: {\"error\":") && late.body.contains("upstream_timeout"))
        // The whole of an answer has its limit too, however it drips.
        let dripping = FakeUpstream { _ in
            events([]) { writer in
                while true {
                    try await writer.write(": \n\n".utf8)
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
        }
        let endless = try await dripping.run {
            try await throughDoor(local.with(upstream: $0, timeLimit: .seconds(1)), request)
        }
        #expect(endless.body.contains("upstream_timeout"))
    }

    @Test(arguments: [
        "", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{", "HTTP/1.1 2xx OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>", "HTTP/1.1 200 OK\r\n\r\n{\"a\":1}",
        "HTTP/1.1 200 OK\r\n\r\n[]", "HTTP/1.1 500 Oh\r\n\r\n{\"error\":{\"message\":\"secret path\"}}",
        "HTTP/1.1 503 Busy\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
        "HTTP/1.1 401 No\r\n\r\n{\"error\":{\"message\":\"Incorrect API key provided: " + upstreamKey + "\"}}",
        "HTTP/1.1 403 No\r\n\r\n", "HTTP/1.1 404 No\r\n\r\n<html>", "HTTP/1.1 204 Empty\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cho",
    ])
    func `what is no answer is a bad gateway, streamed or not`(_ garbage: String) async throws {
        for fields in ["", #""stream":true"#] {
            let host = try RawHost(garbage)
            let port = UInt16(try #require(host.url.port))
            let request = chatRequest(chatBody(fields, model: "g"))
            let reply = try await throughDoor(local.with(upstream: port), request)
            #expect(reply.status == 502, "\(reply.text)")
            #expect(reply.errorCode == "upstream_error")
            #expect(reply.header("x-engine") == "upstream")
            #expect(!reply.text.contains(upstreamKey) && !reply.text.contains("secret path"))
            // Something was sent, so it was not sent twice.
            #expect(host.asked.value == 1)
        }
    }

    @Test func `an answer without end is cut, streamed or not`() async throws {
        let piece = [UInt8](repeating: 0x20, count: 1 << 20)
        let endless = FakeUpstream { request in
            let type =
                String(decoding: request.body.bytes ?? [], as: UTF8.self).contains("stream")
                ? "text/event-stream" : "a/b"
            return Response(
                status: 200, headers: ["Content-Type": type],
                body: .stream { writer in while true { try await writer.write(piece) } })
        }
        for fields in ["", #""stream":true"#] {
            let request = chatRequest(chatBody(fields, model: "g"))
            let reply = try await endless.run { try await throughDoor(local.with(upstream: $0), request) }
            #expect(reply.status == 502 && reply.errorCode == "upstream_error")
        }
    }

    @Test func `what a client can do something about is passed on`() async throws {
        let error = #"{"error":{"message":"bad \#(upstreamKey) size","type":"x","param":"size","code":"invalid_size"}}"#
        for status in [400, 404, 413, 422] {
            let fake = FakeUpstream { _ in json(error, status: status) }
            let reply = try await fake.run {
                try await throughDoor(local.with(upstream: $0), chatRequest(chatBody(model: "g")))
            }
            #expect(reply.status == status && reply.errorCode == "invalid_size")
            #expect(reply.answer.error["message"] as? String == "bad … size")
            #expect(reply.answer.error["param"] as? String == "size")
            #expect(fake.count == 1)
        }
        for (after, expected) in [("7", 7...7), ("Fri, 01 Jan 2100 00:00:00 GMT", 86400...86400), ("soon", 1...60)] {
            let fake = FakeUpstream { _ in json("{}", status: 429, headers: ["Retry-After": after]) }
            let reply = try await fake.run {
                try await throughDoor(local.with(upstream: $0), chatRequest(chatBody(model: "g")))
            }
            #expect(reply.status == 429 && reply.errorCode == "rate_limit_exceeded")
            #expect(expected.contains(Int(reply.header("Retry-After") ?? "") ?? 0))
        }
    }

    @Test func `the key is neither followed by a redirect nor logged`() async throws {
        let elsewhere = FakeUpstream { _ in json(completion) }
        let directory = try TemporaryDirectory()
        let file = try directory.write([], as: "log")
        let log = requestLog(to: file)
        try await elsewhere.run { other in
            let fake = FakeUpstream { request in
                let message = #"{"error":{"message":"\#(request.headers["Authorization"] ?? "")"}}"#
                return json(
                    message, status: 307, headers: ["Location": "http://127.0.0.1:\(other)/v1/chat/completions"])
            }
            let reply = try await fake.run {
                try await throughDoor(local.with(upstream: $0), chatRequest(chatBody(model: "g")), log: log)
            }
            #expect(reply.status == 502 && !reply.text.contains(upstreamKey))
        }
        #expect(elsewhere.count == 0)
        #expect(
            await eventually {
                log.flush()
                return (try? String(contentsOfFile: file, encoding: .utf8))?.contains("upstream: 307") == true
            })
        let line = try withExtendedLifetime(directory) { try String(contentsOfFile: file, encoding: .utf8) }
        #expect(line.contains(#""engine":"upstream""#) && line.contains(#""model":"g""#))
        #expect(!line.contains(upstreamKey))
    }

    @Test func `the log has what the server's owner should know, and neither key nor prompt`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write([], as: "log")
        let log = requestLog(to: file)
        for (status, words) in [(400, "a prompt"), (429, "a prompt"), (500, "a prompt"), (401, "no \(upstreamKey)")] {
            let fake = FakeUpstream { _ in
                json(#"{"error":{"message":"\#(words)","code":"why"}}"#, status: status)
            }
            _ = try await fake.run {
                try await throughDoor(local.with(upstream: $0), chatRequest(chatBody(model: "g")), log: log)
            }
        }
        func lines() -> String {
            log.flush()
            return (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        }
        #expect(await eventually { lines().split(separator: "\n").count == 4 })
        let text = withExtendedLifetime(directory) { lines() }
        for known in ["upstream: 400 why", "upstream: 429 why", "upstream: 500 why", "upstream: 401 no …"] {
            #expect(text.contains(known))
        }
        #expect(!text.contains("a prompt") && !text.contains(upstreamKey))
    }

    @Test func `only what nobody heard is said again`() async throws {
        let clock = FakeClock()
        // Nobody listens there; a port that was free a moment ago may be another test's by now.
        let reply = try await throughDoor(local.with(upstream: 1, clock: clock), chatRequest(chatBody(model: "g")))
        #expect(reply.status == 502 && reply.errorCode == "upstream_error")
        #expect(!reply.text.contains("127.0.0.1"))
        #expect(clock.pauses == 2)
        let failing = FakeUpstream { _ in .text("no", status: 500) }
        _ = try await failing.run { try await throughDoor(local.with(upstream: $0), chatRequest(chatBody(model: "g"))) }
        #expect(failing.count == 1)
    }
}
