import Foundation
import JSON
import Testing

@testable import Wire

private func object(_ bytes: some Sequence<UInt8>) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
}

private func isNull(_ value: Any?) -> Bool { value is NSNull }

/// The JSON of an event, whose framing is checked.
private func payload(_ event: [UInt8]) throws -> [String: Any] {
    let text = String(decoding: event, as: UTF8.self)
    #expect(text.utf8.starts(with: "data: ".utf8) && text.hasSuffix("\n\n"))
    #expect(event.count { $0 == 0x0a || $0 == 0x0d } == 2)
    return try object(event.dropFirst(6).dropLast(2))
}

@Suite struct ResponseTests {
    private let identity = AnswerIdentity(id: "chatcmpl-1", created: 7, model: "m", systemFingerprint: "fp_1")
    private let usage = TokenUsage(
        promptTokens: 3, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1, acceptedPredictionTokens: 2,
        rejectedPredictionTokens: 5)

    @Test func `an error has exactly four members, null where there is nothing to say`() throws {
        let bytes = try JSON.encode(ErrorBody(APIError(status: 500, kind: .server, message: "m")))
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"error":{"code":null,"message":"m","param":null,"type":"server_error"}}"#)
        let full = APIError(status: 400, kind: .invalidRequest, message: "a/b", param: "p", code: "c")
        #expect(
            String(decoding: try JSON.encode(ErrorBody(full)), as: UTF8.self)
                == #"{"error":{"code":"c","message":"a/b","param":"p","type":"invalid_request_error"}}"#)
    }

    @Test func `a completion has the shape that clients expect`() throws {
        let completion = ChatCompletion(
            identity, choices: [.init(index: 0, message: .init(content: "é\n"), finishReason: "stop")], usage: usage)
        let json = try object(JSON.encode(completion))
        #expect(json["object"] as? String == "chat.completion")
        #expect(json["created"] as? Int == 7)
        let usage = try #require(json["usage"] as? [String: Any])
        #expect(usage["prompt_tokens"] as? Int == 3)
        #expect(usage["completion_tokens"] as? Int == 4)
        #expect(usage["total_tokens"] as? Int == 7)
        #expect(usage["prompt_tokens_details"] as? [String: Int] == ["cached_tokens": 2])
        #expect(
            usage["completion_tokens_details"] as? [String: Int]
                == ["reasoning_tokens": 1, "accepted_prediction_tokens": 2, "rejected_prediction_tokens": 5])
        let choice = try #require((json["choices"] as? [[String: Any]])?.first)
        #expect(choice["index"] as? Int == 0)
        #expect(choice["finish_reason"] as? String == "stop")
        #expect(isNull(choice["logprobs"]))
        let message = try #require(choice["message"] as? [String: Any])
        #expect(message["role"] as? String == "assistant")
        #expect(message["content"] as? String == "é\n")
        #expect(isNull(message["refusal"]))
        #expect(try JSON.decode(ChatCompletion.self, from: JSON.encode(completion)) == completion)
    }

    @Test func `models`() throws {
        let json = try object(JSON.encode(ModelList([ModelCard(id: "m", created: 7, ownedBy: "local")])))
        #expect(json["object"] as? String == "list")
        let card = try #require((json["data"] as? [[String: Any]])?.first)
        #expect(Set(card.keys) == ["id", "object", "created", "owned_by", "state"])
        #expect(card["object"] as? String == "model")
    }

    private func encoder(usage: Bool = false, model: String = "m") throws -> ChatCompletionChunkEncoder {
        var identity = identity
        identity.model = model
        return try .init(identity, choices: 2, includeUsage: usage)
    }

    @Test func `role first, text, then the reason with an empty delta`() throws {
        let encoder = try encoder()
        let events = try [encoder.role(choice: 1), encoder.text("hi", choice: 1), encoder.finish("length", choice: 1)]
            .map(payload)
        for event in events {
            #expect(event["id"] as? String == "chatcmpl-1")
            #expect(event["object"] as? String == "chat.completion.chunk")
            #expect(event["created"] as? Int == 7)
            #expect(event["model"] as? String == "m")
            #expect(event["system_fingerprint"] as? String == "fp_1")
            #expect(event.keys.contains("usage") == false)
        }
        let choices = events.compactMap { ($0["choices"] as? [[String: Any]])?.first }
        let deltas = choices.compactMap { $0["delta"] as? [String: String] }
        #expect(choices.map { $0["index"] as? Int } == [1, 1, 1])
        #expect(deltas == [["role": "assistant", "content": ""], ["content": "hi"], [:]])
        #expect(isNull(choices[0]["finish_reason"]) && isNull(choices[1]["finish_reason"]))
        #expect(choices[2]["finish_reason"] as? String == "length")
    }

    @Test func `usage comes in a chunk without choices, and is null before`() throws {
        let encoder = try encoder(usage: true)
        for event in try [encoder.role(choice: 0), encoder.text("hi", choice: 0), encoder.finish("stop", choice: 0)] {
            #expect(isNull(try payload(event)["usage"]))
        }
        let last = try payload(encoder.usage(usage))
        #expect((last["choices"] as? [Any])?.isEmpty == true)
        #expect((last["usage"] as? [String: Any])?["total_tokens"] as? Int == 7)
    }

    @Test(arguments: ["m", #""content":"""#, #"\"content\":\"\""#, "content", "ö\"\\\n"])
    func `any text comes through, whatever the model is called`(_ model: String) throws {
        let encoder = try encoder(model: model)
        for text in [
            "", "a", "\"\\/\n\r\t\0\u{1f}\u{7f}\u{2028}\u{2029}", "é 👩‍👩‍👧 \u{301}", "data: x\n\ndata: [DONE]",
            #""content":"""#,
        ] {
            let event = try payload(encoder.text(text, choice: 0))
            let choice = try #require((event["choices"] as? [[String: Any]])?.first)
            let content = try #require((choice["delta"] as? [String: String])?["content"])
            #expect(Array(content.utf8) == Array(text.utf8))
            #expect(event["model"] as? String == model)
        }
    }

    @Test func `the end and the sign of life`() {
        #expect(String(decoding: ServerSentEvent.done, as: UTF8.self) == "data: [DONE]\n\n")
        #expect(
            String(decoding: ServerSentEvent.named("a.b", Array("{}".utf8)), as: UTF8.self)
                == "event: a.b\ndata: {}\n\n")
        #expect(String(decoding: ServerSentEvent.ping, as: UTF8.self) == ": ping\n\n")
    }
}
