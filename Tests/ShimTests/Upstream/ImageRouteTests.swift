import Foundation
import HTTP
import TestSupport
import Testing

@testable import Shim

@Suite(.timeLimit(.minutes(5))) struct ImageRouteTests {
    private let local = router(ScriptedLanguageModel())

    private func sent(_ fake: FakeUpstream) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(fake.last?.body.bytes ?? [])) as? [String: Any])
    }

    @Test(arguments: ["/dalle", "/vision", "/v1/images/generations"])
    func `without an upstream the answer says what is missing`(_ path: String) async throws {
        let reply = try await throughDoor(local, post(path, #"{"prompt":"x","image":"http://a/b"}"#))
        #expect(reply.status == 501 && reply.errorCode == "upstream_not_configured")
        #expect(reply.body.contains("--upstream"))
        #expect(reply.header("x-should-retry") == "false")
    }

    @Test(arguments: ["/v1/images/edits", "/v1/images/variations"])
    func `forms with images are passed on as they are`(_ path: String) async throws {
        let fake = FakeUpstream { request in
            guard request.body.length ?? 0 < 1000 else { return json(#"{"data":[{"b64_json":"UklGRgAA"}]}"#) }
            return events(["data: {\"b64_json\":\"\"}\n\n"])
        }
        func ask(_ fields: [String: String], type: String = "multipart/form-data; boundary=b") async throws
            -> SocketReply
        {
            let form =
                fields.sorted { $0.key < $1.key }.map { name, content in
                    "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(content)\r\n"
                }.joined() + "--b--\r\n"
            let request =
                "POST \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \(type)\r\n"
                + "Content-Length: \(form.utf8.count)\r\n\r\n\(form)"
            let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), request) }
            if reply.status == 200 {
                #expect(fake.last?.target == path && fake.last?.headers["Content-Type"] == type)
                #expect(fake.last?.headers["Authorization"] == "Bearer \(upstreamKey)")
                #expect(fake.last?.body.bytes == Array(form.utf8))
            }
            return reply
        }
        // Larger than what routes without images take.
        let large = try await ask(["image": String(repeating: "x", count: 9 << 20), "prompt": "a hat"])
        #expect(large.status == 200 && large.body == #"{"data":[{"b64_json":"UklGRgAA"}]}"#)
        let streamed = try await ask(["image[]": "x", "stream": "true"])
        #expect(streamed.status == 200 && streamed.header("Content-Type")?.hasPrefix("text/event-stream") == true)
        #expect(try await ask(["prompt": "x"]).answer.error["param"] as? String == "image")
        #expect(try await ask(["image": "x"], type: "application/json").status == 400)
        let alone = try await throughDoor(local, post(path, "--b--"))
        #expect(alone.status == 501 && alone.errorCode == "upstream_not_configured")
    }

    @Test func `dalle has the app's defaults, and answers with an address`() async throws {
        let fake = FakeUpstream { _ in json(#"{"created":1,"data":[{"url":"https://images.example/1.png"}]}"#) }
        let reply = try await fake.run {
            try await throughDoor(local.with(upstream: $0), post("/dalle", #"{"prompt":"a cat"}"#))
        }
        #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
        #expect(reply.body == #"{"url":"https://images.example/1.png"}"#)
        #expect(fake.last?.target == "/v1/images/generations")
        let defaults: NSDictionary = [
            "prompt": "a cat", "model": "dall-e-3", "n": 1, "quality": "hd", "response_format": "url",
            "size": "1024x1024", "style": "natural",
        ]
        #expect(try sent(fake) as NSDictionary == defaults)
    }

    @Test func `dalle passes on what it is given`() async throws {
        let fake = FakeUpstream { _ in json(#"{"data":[{"url":"","b64_json":"UklGRgAA"}]}"#) }
        let body =
            #"{"prompt":"x","model":"m","n":1,"quality":"q","response_format":"b64_json","size":"s","style":"t"}"#
        let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), post("/dalle", body)) }
        #expect(reply.body == #"{"url":"data:image/webp;base64,UklGRgAA"}"#)
        #expect(
            try sent(fake) as NSDictionary == JSONSerialization.jsonObject(with: Data(body.utf8)) as? NSDictionary)
    }

    @Test(arguments: [
        ("{}", "prompt", 400), (#"{"prompt":"x","n":2}"#, "n", 400), (#"{"prompt":7}"#, "prompt", 400),
    ])
    func `dalle names what is wrong`(_ body: String, _ param: String, _ status: Int) async throws {
        let fake = FakeUpstream { _ in json("{}") }
        let reply = try await fake.run { try await throughDoor(local.with(upstream: $0), post("/dalle", body)) }
        #expect(reply.status == status && reply.answer.error["param"] as? String == param)
        #expect(fake.count == 0)
    }

    @Test func `dalle without an image is the upstream's fault`() async throws {
        for answer in [
            #"{"data":[]}"#, #"{"data":[{}]}"#, #"{"data":[7]}"#, "{}", #"{"data":[{"url":""}]}"#,
            #"{"data":[{"url":"javascript:alert(1)"}]}"#, #"{"data":[{"b64_json":"PGh0bWw+"}]}"#,
        ] {
            let fake = FakeUpstream { _ in json(answer) }
            let reply = try await fake.run {
                try await throughDoor(local.with(upstream: $0), post("/dalle", #"{"prompt":"x"}"#))
            }
            #expect(reply.status == 502 && reply.errorCode == "upstream_error")
        }
    }

    @Test(arguments: [
        ("https://a.example/b.png", "https://a.example/b.png"), ("http://127.0.0.1:1/x", "http://127.0.0.1:1/x"),
        ("data:image/webp;base64,AAAA", "data:image/webp;base64,AAAA"),
        ("iVBORw0KGgoAAAA", "data:image/png;base64,iVBORw0KGgoAAAA"), ("/9j/4AAQ", "data:image/jpeg;base64,/9j/4AAQ"),
        ("R0lGODlh", "data:image/gif;base64,R0lGODlh"), ("UklGRgAA", "data:image/webp;base64,UklGRgAA"),
    ])
    func `vision asks a model that sees`(_ image: String, _ url: String) async throws {
        let fake = FakeUpstream { _ in json(completion) }
        for field in ["prompt", "question"] {
            let body = #"{"\#(field)":"What is it?","image":"\#(image)"}"#
            let reply = try await fake.run {
                try await throughDoor(
                    local.with(upstream: $0, "--upstream-model", "imageReader"), post("/vision", body))
            }
            #expect(reply.status == 200 && reply.header("x-engine") == "upstream")
            #expect(reply.body == #"{"content":"Yes","role":"assistant"}"#)
            #expect(fake.last?.target == "/v1/chat/completions")
            let chat: NSDictionary = [
                "model": "imageReader",
                "messages": [
                    [
                        "role": "user",
                        "content": [
                            ["type": "text", "text": "What is it?"],
                            ["type": "image_url", "image_url": ["url": url]] as [String: Any],
                        ],
                    ] as [String: Any]
                ],
            ]
            #expect(try sent(fake) as NSDictionary == chat)
        }
    }

    @Test(arguments: [
        (#"{"image":"http://a/b"}"#, "prompt"), (#"{"prompt":"x"}"#, "image"),
        (#"{"prompt":"x","image":"file:///etc/passwd"}"#, "image"), (#"{"prompt":"x","image":""}"#, "image"),
        (#"{"prompt":"x","image":"data:text/html,x"}"#, "image"),
    ])
    func `vision names what is wrong`(_ body: String, _ param: String) async throws {
        let fake = FakeUpstream { _ in json(completion) }
        let reply = try await fake.run {
            try await throughDoor(local.with(upstream: $0, "--upstream-model", "imageReader"), post("/vision", body))
        }
        #expect(reply.status == 400 && reply.answer.error["param"] as? String == param)
        #expect(fake.count == 0)
    }

    @Test func `vision takes JSON, and needs a model`() async throws {
        let fake = FakeUpstream { _ in json(completion) }
        try await fake.run { port in
            let router = try local.with(upstream: port)
            let form = post("/vision", "--x").replacingOccurrences(
                of: "application/json", with: "multipart/form-data; boundary=x")
            #expect(try await throughDoor(router, form).status == 415)
            let body = #"{"prompt":"x","image":"http://a/b"}"#
            let nameless = try await throughDoor(router, post("/vision", body))
            #expect(nameless.status == 400 && nameless.body.contains("--upstream-model"))
            let named = body.replacingOccurrences(of: "{", with: #"{"model":"imageReader","#)
            #expect(try await throughDoor(router, post("/vision", named)).status == 200)
        }
        #expect(fake.count == 1)
    }
}
