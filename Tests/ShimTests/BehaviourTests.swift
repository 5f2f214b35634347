import Foundation
import Glibc
import HTTP
import Synchronization
import TestSupport
import Testing

@testable import LocalLLM
@testable import Shim

/// What clients of OpenAI's API depend on, numbered; here 1 to 7, 20 to 22 and 24: answers, errors and streams.
@Suite(.timeLimit(.minutes(2))) struct BehaviourTests {
    @Test(arguments: [FinishReason.stop, .length])
    func `1: the finish reason is null in each chunk but one, whose delta is empty`(_ reason: FinishReason) async throws
    {
        let router = router(ScriptedLanguageModel(.init(reason: reason)))
        let choices = try await router.stream(chatBody(#""stream": true, "n": 2"#)).choices
        for index in 0...1 {
            let own = choices.filter { $0["index"] as? Int == index }
            #expect(own.dropLast().allSatisfy { $0["finish_reason"] is NSNull })
            #expect(own.last?["finish_reason"] as? String == reason.rawValue)
            #expect((own.last?["delta"] as? [String: Any])?.isEmpty == true)
        }
    }

    @Test func `2: usage with cached and reasoning tokens`() async {
        let engine = ScriptedLanguageModel(
            .init(texts: ["<think>", "Hm", "</think>", "Yes"], cachedTokens: 5, drafted: (accepted: 2, rejected: 3)))
        let usage = await router(engine).chat().usage
        #expect(usage["prompt_tokens"] as? Int == 7)
        #expect(usage["completion_tokens"] as? Int == 4)
        #expect(usage["total_tokens"] as? Int == 11)
        #expect(usage["prompt_tokens_details"] as? [String: Int] == ["cached_tokens": 5])
        let thoughts = ScriptedLanguageModel.tokens("<think>Hm</think>").count
        #expect(
            usage["completion_tokens_details"] as? [String: Int] == [
                "reasoning_tokens": thoughts, "accepted_prediction_tokens": 2, "rejected_prediction_tokens": 3,
            ])
    }

    @Test func `a prediction is what the answer is expected to be`() async throws {
        let engine = ScriptedLanguageModel(.init(drafted: (accepted: 2, rejected: 3)))
        let router = router(engine)
        let answer = await router.chat(
            #""prediction": {"type": "content", "content": [{"type": "text", "text": "Yes."}]}, "timings_per_token": true"#
        )
        #expect(engine.asked.withLock { $0[0].options.expectedTokens } == ScriptedLanguageModel.tokens("Yes."))
        let timings = try #require(answer.json["timings"] as? [String: Any])
        #expect(timings["draft_n"] as? Int == 5)
        #expect(timings["draft_n_accepted"] as? Int == 2)
        // No longer than the context: nothing after it is ever looked at.
        let long = String(repeating: "x", count: 1000)
        _ = await router.chat(#""prediction": {"type": "content", "content": "\#(long)"}"#)
        #expect(engine.asked.withLock { $0[1].options.expectedTokens.count } == engine.contextSize)
        let metrics = await router.answer("GET", "/metrics").text
        #expect(metrics.contains("\nshim_drafted_tokens_total{model=\"Test-Q4\"} 10\n"))
        #expect(metrics.contains("\nshim_accepted_tokens_total{model=\"Test-Q4\"} 4\n"))
    }

    @Test func `3: the usage of a stream comes in a chunk of its own, only where it is asked for`() async throws {
        let router = router(ScriptedLanguageModel())
        let asked = try await router.stream(chatBody(#""stream": true, "stream_options": {"include_usage": true}"#))
        #expect(asked.chunks.dropLast().allSatisfy { $0["usage"] is NSNull })
        #expect((asked.chunks.last?["choices"] as? [Any])?.isEmpty == true)
        #expect((asked.chunks.last?["usage"] as? [String: Any])?["total_tokens"] as? Int == 10)
        #expect(asked.events.last == "data: [DONE]")
        let notAsked = try await router.stream(chatBody(#""stream": true, "stream_options": {"include_usage": false}"#))
        #expect(notAsked.chunks.allSatisfy { $0["usage"] == nil })
        #expect(notAsked.chunks.allSatisfy { ($0["choices"] as? [Any])?.count == 1 })
        let refused = await router.chat(#""stream_options": {"include_usage": true}"#)
        #expect(refused.status == 400)
        #expect(refused.error["param"] as? String == "stream_options")
    }

    @Test func `4: an error has four members, its code a string or null`() async {
        let router = router(ScriptedLanguageModel())
        for (answer, code) in [
            (await router.chat(#""n": 0"#), "invalid_value"),
            (await router.chat(#""use_beam_search": true"#), "unsupported_parameter"),
            (await router.chat(model: "gpt-4"), "model_not_found"), (await router.answer("GET", "/x"), "unknown_url"),
            (await router.answer("POST", "/v1/chat/completions", "{"), nil),
        ] {
            #expect(Set(answer.error.keys) == ["message", "type", "param", "code"])
            #expect(answer.error["code"] as? String == code)
            #expect(answer.error["type"] as? String == "invalid_request_error")
            #expect(answer.headers["Content-Type"] == "application/json")
        }
    }

    @Test(arguments: [
        (LocalModelError.queueFull(limit: 8), 429, "rate_limit_error", "1"), (.shutDown, 503, "server_error", "1"),
        (.invalidOption("x"), 400, "invalid_request_error", ""),
        (.templateFailed("x"), 400, "invalid_request_error", ""),
    ])
    func `5: statuses, and when to try again`(
        _ error: LocalModelError, _ status: Int, _ type: String, _ retry: String
    )
        async
    {
        let router = router(ScriptedLanguageModel(.init(texts: [], error: error)))
        for answer in [
            await router.chat(), await router.chat(#""stream": true"#), await router.complete(#""prompt": "x""#),
        ] {
            #expect(answer.status == status)
            #expect(answer.error["type"] as? String == type)
            #expect(answer.headers["Retry-After"] ?? "" == retry)
        }
    }

    @Test func `6: what does not fit is a context_length_exceeded with both numbers, naming the field`() async {
        let error = LocalModelError.contextSizeExceeded(contextSize: 128, tokenCount: 500)
        let router = router(ScriptedLanguageModel(.init(texts: [], error: error)))
        let long = String(repeating: "x", count: 129)
        for (answer, field) in [
            (await router.chat(), "messages"), (await router.chat(#""stream": true"#), "messages"),
            (await router.complete(#""prompt": "x", "stream": true"#), "prompt"),
            (
                await router.answer("POST", "/v1/embeddings", #"{"model": "Test-Q4", "input": ["a", "\#(long)"]}"#),
                "input[1]"
            ),
        ] {
            #expect(answer.status == 400)
            #expect(answer.error["code"] as? String == "context_length_exceeded")
            #expect(answer.error["param"] as? String == field)
            let message = answer.error["message"] as? String ?? ""
            #expect(message.contains("maximum context length is 128 tokens"))
            #expect(message.contains(field.hasPrefix("input") ? "129 tokens" : "500 tokens"))
        }
    }

    @Test func `7: an error before the first token is a status, one after it the last event`() async throws {
        let early = await router(ScriptedLanguageModel(.init(texts: [], error: .shutDown))).chat(#""stream": true"#)
        #expect(early.status == 503)
        for path in ["/v1/chat/completions", "/v1/completions"] {
            let body = #"{"model":"Test-Q4","prompt":"x","messages":[{"role":"user","content":"Hi"}],"stream":true}"#
            let late = try await router(ScriptedLanguageModel(.init(error: .shutDown))).stream(body, at: path)
            #expect(late.text.hasPrefix("HTTP/1.1 200"))
            #expect(late.text.contains("Hello"))
            #expect(!late.events.contains("data: [DONE]"))
            #expect(Set((late.error ?? [:]).keys) == ["message", "type", "param", "code"])
            #expect(late.error?["code"] as? String == "shutting_down")
        }
    }

    @Test func `20: a client that leaves a long prefill of several choices ends all of them`() async throws {
        let engine = ScriptedLanguageModel(.init(prefill: .seconds(60)))
        try await withShim(router(engine)) { port in
            try await onThread {
                let client = try SocketClient(port: port)
                try client.send(chatRequest(chatBody(#""n": 3"#)))
                while engine.asked.withLock({ $0.count }) < 3 { usleep(1000) }
            }
            #expect(await engine.isCancelled(3, within: .seconds(20)))
        }
    }

    @Test func `21: all chunks have one id, time and model, and each choice one role`() async throws {
        let router = router(ScriptedLanguageModel())
        for (path, prefix, object) in [
            ("/v1/chat/completions", "chatcmpl-", "chat.completion.chunk"),
            ("/v1/completions", "cmpl-", "text_completion"),
        ] {
            let body =
                #"{"model":"Test-Q4","prompt":"x","messages":[{"role":"user","content":"Hi"}],"stream":true,"n":2}"#
            let stream = try await router.stream(body, at: path)
            #expect(stream.chunks.count >= 8)
            for name in ["id", "created", "model", "system_fingerprint"] {
                #expect(Set(stream.chunks.map { "\($0[name] ?? "")" }).count == 1)
            }
            #expect((stream.chunks[0]["id"] as? String)?.hasPrefix(prefix) == true)
            #expect(stream.chunks.allSatisfy { $0["object"] as? String == object })
            if object == "text_completion" { continue }
            #expect(stream.deltas.filter { $0["role"] != nil }.count == 2)
        }
    }

    @Test func `22: an event is one line of data, and a blank one`() async throws {
        let stream = try await router(ScriptedLanguageModel(.init(texts: ["a\n\nb\r\n"]))).stream(
            chatBody(#""stream": true"#))
        #expect(stream.text.contains("Content-Type: text/event-stream"))
        #expect(stream.content() == "a\n\nb\r\n")
        #expect(stream.events.allSatisfy { $0.hasPrefix("data: ") && !$0.contains("\n") })
    }

    @Test func `24: fields that ask for nothing are ignored, and so is a key where none is asked for`() async throws {
        let router = router(ScriptedLanguageModel())
        let answer = await router.chat(
            #""store": true, "metadata": {"a": "b"}, "user": "u", "service_tier": "auto", "prediction": null, "x": [1]"#
        )
        #expect(answer.status == 200)
        let request = post("/v1/chat/completions", chatBody())
            .replacingOccurrences(of: "Host:", with: "Authorization: Bearer any\r\nHost:")
        let text = try await withShim(router) { try await exchange($0, request) }
        #expect(text.hasPrefix("HTTP/1.1 200"))
    }

    @Test func `an answer that takes too long is given up, with a status or as the last event`() async throws {
        let silent = router(ScriptedLanguageModel(.init(prefill: .seconds(60))), requestTimeout: .milliseconds(50))
        for answer in [
            await silent.chat(), await silent.chat(#""stream": true"#), await silent.complete(#""prompt": "x""#),
        ] {
            #expect(answer.status == 504)
            #expect(answer.error["code"] as? String == "request_timeout")
            #expect(answer.headers["x-should-retry"] == "false")
        }
        let slow = ScriptedLanguageModel(.init(pause: .seconds(60)))
        let stream = try await router(slow, requestTimeout: .milliseconds(300)).stream(chatBody(#""stream": true"#))
        #expect(stream.content() == "Hello")
        #expect(stream.error?["code"] as? String == "request_timeout")
        #expect(await slow.isCancelled(within: .seconds(20)))
    }
}
