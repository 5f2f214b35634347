import Foundation
import JSON
import Testing
import Wire

@testable import LocalLLM
@testable import Shim

/// The forms of an answer as values: what a stream adds up to is the whole answer.
@Suite struct AnswerFormTests {
    private static let identity = AnswerIdentity(id: "id", created: 1, model: "m", systemFingerprint: "fp")

    private static func delta(_ change: (inout ChoiceDelta) -> Void) -> ChoiceDelta {
        var delta = ChoiceDelta(choice: 0)
        change(&delta)
        return delta
    }

    private static let usage = Usage(
        promptTokens: 9, cachedTokens: 4, completionTokens: 7, secondsToFirstToken: 0, decodeSeconds: 0)

    /// Thoughts, a text, and two calls.
    static let answer = [
        delta { $0.reasoning = "Hm" }, delta { $0.reasoning = "…" },
        delta {
            $0.reasoning = "!"
            $0.content = "Let "
        },
        delta { $0.content = "\"me\"\n" },
        delta { $0.calls = [CallDelta(index: 0, id: "call_1", name: "weather")] },
        delta { $0.calls = [CallDelta(index: 0, arguments: #"{"city":"#)] },
        delta {
            $0.calls = [
                CallDelta(index: 0, arguments: #" "Öl"}"#),
                CallDelta(index: 1, id: "call_2", name: "now", arguments: "{}"),
            ]
        },
        delta { $0.finish = .init(reason: .stop, usage: usage, reasoningTokens: 2, hasCalls: true) },
    ]
    static let text = [
        delta { $0.content = "a" }, delta { $0.content = "b" },
        delta {
            $0.content = "c"
            $0.finish = .init(reason: .length, usage: usage)
        },
    ]

    /// What a client has of an answer.
    private struct Read: Equatable {
        var reasoning = ""
        var content = ""
        var calls: [String] = []
        var end = ""
        var outputTokens = 0
    }

    /// The events' data.
    private func events(_ encoder: some AnswerEncoder, _ deltas: [ChoiceDelta]) throws -> [[String: Any]] {
        var encoder = encoder
        var bytes = try encoder.begin()
        for delta in deltas { bytes += try encoder.encode(delta) }
        bytes += try encoder.end(deltas.compactMap(\.finish))
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            guard let start = ["data: {", "{"].first(where: { line.hasPrefix($0) }) else { return nil }
            let json = line.utf8.dropFirst(start.utf8.count - 1)
            return try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
        }
    }

    private func whole(_ encoder: some AnswerEncoder, _ deltas: [ChoiceDelta]) throws -> [String: Any] {
        var encoder = encoder
        var sum = ChoiceDelta(choice: 0)
        for delta in deltas { sum += delta }
        let object = try JSONSerialization.jsonObject(with: Data(JSON.encode(encoder.whole([sum]))))
        return try #require(object as? [String: Any])
    }

    @Test(arguments: [answer, text]) func `chat completions`(_ deltas: [ChoiceDelta]) throws {
        let encoder = try ChatEncoder(
            Self.identity, choices: 1, form: .toolCalls, tokenizer: nil, includeUsage: true)
        func call(_ call: [String: Any]) -> (String?, String) {
            let function = call["function"] as? [String: Any]
            let name = (function?["name"] as? String).map { "\(call["id"] ?? "") \($0) " }
            return (name, function?["arguments"] as? String ?? "")
        }
        var streamed = Read()
        for event in try events(encoder, deltas) {
            if let usage = event["usage"] as? [String: Any] {
                streamed.outputTokens = usage["completion_tokens"] as? Int ?? 0
            }
            guard let choice = (event["choices"] as? [[String: Any]])?.first else { continue }
            let delta = choice["delta"] as? [String: Any]
            streamed.reasoning += delta?["reasoning_content"] as? String ?? ""
            streamed.content += delta?["content"] as? String ?? ""
            for piece in delta?["tool_calls"] as? [[String: Any]] ?? [] {
                let (name, arguments) = call(piece)
                let index = try #require(piece["index"] as? Int)
                if let name, index == streamed.calls.count { streamed.calls.append(name) }
                streamed.calls[index] += arguments
            }
            streamed.end += choice["finish_reason"] as? String ?? ""
        }
        let object = try whole(encoder, deltas)
        let choice = try #require((object["choices"] as? [[String: Any]])?.first)
        let message = try #require(choice["message"] as? [String: Any])
        let read = Read(
            reasoning: message["reasoning_content"] as? String ?? "", content: message["content"] as? String ?? "",
            calls: (message["tool_calls"] as? [[String: Any]] ?? []).map { call($0).0! + call($0).1 },
            end: choice["finish_reason"] as? String ?? "",
            outputTokens: (object["usage"] as? [String: Any])?["completion_tokens"] as? Int ?? 0)
        #expect(streamed == read)
        try check(read, deltas, end: ["tool_calls", "length"])
    }

    @Test(arguments: [answer, text]) func `messages`(_ deltas: [ChoiceDelta]) throws {
        let encoder = MessagesEncoder(MessagesAnswer(id: "id", model: "m", usage: .init(TokenUsage(promptTokens: 9))))
        var streamed = Read()
        for event in try events(encoder, deltas) {
            if let block = event["content_block"] as? [String: Any], block["type"] as? String == "tool_use" {
                streamed.calls.append("\(block["id"] ?? "") \(block["name"] ?? "") ")
            }
            if let usage = event["usage"] as? [String: Any] {
                streamed.outputTokens = usage["output_tokens"] as? Int ?? 0
            }
            guard let delta = event["delta"] as? [String: Any] else { continue }
            streamed.reasoning += delta["thinking"] as? String ?? ""
            streamed.content += delta["text"] as? String ?? ""
            if let json = delta["partial_json"] as? String { streamed.calls[streamed.calls.count - 1] += json }
            streamed.end += delta["stop_reason"] as? String ?? ""
        }
        let object = try whole(encoder, deltas)
        var read = Read(
            end: object["stop_reason"] as? String ?? "",
            outputTokens: (object["usage"] as? [String: Any])?["output_tokens"] as? Int ?? 0)
        for block in object["content"] as? [[String: Any]] ?? [] {
            read.reasoning += block["thinking"] as? String ?? ""
            read.content += block["text"] as? String ?? ""
            guard block["type"] as? String == "tool_use", let input = block["input"] else { continue }
            let json = String(decoding: try JSONSerialization.data(withJSONObject: input), as: UTF8.self)
            read.calls.append("\(block["id"] ?? "") \(block["name"] ?? "") \(json)")
        }
        // The whole message has the arguments as a value, not as the model wrote them.
        streamed.calls = streamed.calls.map { $0.replacing(": ", with: ":") }
        #expect(streamed == read)
        read.calls = read.calls.map { $0.replacing(":\"", with: ": \"") }
        try check(read, deltas, end: ["tool_use", "max_tokens"])
    }

    @Test(arguments: [answer, text]) func `responses`(_ deltas: [ChoiceDelta]) throws {
        let request = try JSON.decode(ResponseRequest.self, from: Array(#"{"model":"m","input":"Hi"}"#.utf8))
        let response = ModelResponse(
            Self.identity, for: request,
            sampling: .init(temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0, topLogprobs: 0))
        let encoder = ResponseEncoder(response, tokenizer: nil) { _ in }
        func call(_ item: [String: Any]) -> String? {
            item["call_id"].map { "\($0) \(item["name"] ?? "") \(item["arguments"] ?? "")" }
        }
        func end(_ response: [String: Any]) -> (String, Int) {
            let usage = response["usage"] as? [String: Any]
            return (response["status"] as? String ?? "", usage?["output_tokens"] as? Int ?? 0)
        }
        var streamed = Read()
        for event in try events(encoder, deltas) {
            let delta = event["delta"] as? String ?? ""
            switch event["type"] as? String {
            case "response.reasoning_text.delta": streamed.reasoning += delta
            case "response.output_text.delta": streamed.content += delta
            case "response.output_item.added":
                if let call = call(event["item"] as? [String: Any] ?? [:]) { streamed.calls.append(call) }
            case "response.function_call_arguments.delta": streamed.calls[streamed.calls.count - 1] += delta
            case "response.completed", "response.incomplete":
                (streamed.end, streamed.outputTokens) = end(event["response"] as? [String: Any] ?? [:])
            default: break
            }
        }
        let object = try whole(encoder, deltas)
        var read = Read()
        (read.end, read.outputTokens) = end(object)
        for item in object["output"] as? [[String: Any]] ?? [] {
            let text = (item["content"] as? [[String: Any]] ?? []).map { $0["text"] as? String ?? "" }.joined()
            if item["type"] as? String == "reasoning" { read.reasoning += text } else { read.content += text }
            if let call = call(item) { read.calls.append(call) }
        }
        #expect(streamed == read)
        try check(read, deltas, end: ["completed", "incomplete"])
    }

    @Test(arguments: [answer, text]) func `Ollama's chats`(_ deltas: [ChoiceDelta]) throws {
        let encoder = OllamaEncoder(.chat, model: "m", tokenizer: nil, received: .now)
        func add(_ line: [String: Any], to read: inout Read) throws {
            let message = try #require(line["message"] as? [String: Any])
            read.reasoning += message["thinking"] as? String ?? ""
            read.content += message["content"] as? String ?? ""
            for call in message["tool_calls"] as? [[String: Any]] ?? [] {
                let function = try #require(call["function"] as? [String: Any])
                #expect(function["index"] as? Int == read.calls.count)
                let arguments = try JSONSerialization.data(withJSONObject: try #require(function["arguments"]))
                read.calls.append(
                    "\(call["id"] ?? "") \(function["name"] ?? "") \(String(decoding: arguments, as: UTF8.self))")
            }
            read.end += line["done_reason"] as? String ?? ""
            read.outputTokens += line["eval_count"] as? Int ?? 0
        }
        var (streamed, read) = (Read(), Read())
        for line in try events(encoder, deltas) { try add(line, to: &streamed) }
        try add(try whole(encoder, deltas), to: &read)
        #expect(streamed == read)
        read.calls = read.calls.map { $0.replacing(":\"", with: ": \"") }
        try check(read, deltas, end: ["stop", "length"])
    }

    /// Compares what was read with the deltas.
    private func check(_ read: Read, _ deltas: [ChoiceDelta], end: [String]) throws {
        let hasCalls = deltas.contains { !$0.calls.isEmpty }
        #expect(read.reasoning == deltas.map(\.reasoning).joined())
        #expect(read.content == deltas.map(\.content).joined())
        #expect(read.calls == (hasCalls ? [#"call_1 weather {"city": "Öl"}"#, "call_2 now {}"] : []))
        #expect(read.end == end[hasCalls ? 0 : 1])
        #expect(read.outputTokens == 7)
    }
}
