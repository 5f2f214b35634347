import Foundation
import JSON
import LocalLLM
import Template
import Wire

/// OpenAI's chat completions, with only those fields that every server of this API knows.
///
/// OpenAI API reference, "Create chat completion".
enum ChatsDialect: ServiceDialect {
    static func body(_ request: ConversationRequest, model: String) throws -> WrittenRequest {
        var body: JSON.Object = [
            "model": .string(model), "stream": true,
            "stream_options": .object(["include_usage": true]),
            "messages": .array(request.messages.flatMap { messages($0) }),
        ]
        let sampling = request.sampling
        body["max_tokens"] = sampling.maximumTokens.map { JSON($0) }
        body["temperature"] = sampling.temperature.map { JSON($0) }
        body["top_p"] = sampling.topP.map { JSON($0) }
        if sampling.presencePenalty != 0 { body["presence_penalty"] = JSON(sampling.presencePenalty) }
        if sampling.frequencyPenalty != 0 { body["frequency_penalty"] = JSON(sampling.frequencyPenalty) }
        body["seed"] = sampling.seed.map { JSON(Int64(bitPattern: $0)) }
        if !sampling.stop.isEmpty { body["stop"] = .array(sampling.stop.map { .string($0) }) }
        if request.choices > 1 { body["n"] = JSON(request.choices) }
        if case .string(let effort)? = request.rendering.variables["reasoning_effort"] {
            body["reasoning_effort"] = .string(effort)
        }
        let tools = request.tools
        if !tools.definitions.isEmpty {
            body["tools"] = .array(tools.definitions.map { JSON($0) })
            if let choice = choice(tools.choice) { body["tool_choice"] = choice }
            if !tools.allowsSeveralCalls { body["parallel_tool_calls"] = .bool(false) }
        }
        switch try request.sentFormat {
        case .text: break
        case .object: body["response_format"] = .object(["type": "json_object"])
        case .schema(let schema):
            body["response_format"] = .object([
                "type": "json_schema",
                "json_schema": .object(["name": "answer", "schema": schema]),
            ])
        }
        var unsent = sampling.fieldsMissing(in: body)
        if request.maximumThoughts != nil { unsent.append("the limit on reasoning") }
        return WrittenRequest(body: .object(body), warnings: unsent.warnings)
    }

    static func reader(for request: ConversationRequest) -> ChatsReader {
        ChatsReader(choices: request.choices, custom: request.tools.custom)
    }

    private static func choice(_ choice: ToolOffer.Choice) -> JSON? {
        switch choice {
        case .auto: nil
        case .none: "none"
        case .required: "required"
        case .named(let name):
            .object(["type": "function", "function": .object(["name": .string(name)])])
        }
    }

    /// A message; two if a tool's result has images, which only a user's message can have in this API.
    private static func messages(_ message: ChatMessage) -> [JSON] {
        var fields: JSON.Object = ["role": .string(message.role.rawValue)]
        fields["name"] = message.name.map { .string($0) }
        fields["tool_call_id"] = message.toolCallID.map { .string($0) }
        if let calls = message.toolCalls, !calls.isEmpty {
            fields["tool_calls"] = .array(
                calls.map { call in
                    .object([
                        "id": .string(call.id), "type": "function",
                        "function": .object(["name": .string(call.name), "arguments": .string(call.arguments)]),
                    ])
                })
        }
        let parts = message.parts
        guard message.images?.isEmpty == false else {
            fields["content"] = .string(message.content)
            return [.object(fields)]
        }
        guard message.role == .tool else {
            fields["content"] = .array(parts.map(part))
            return [.object(fields)]
        }
        let (texts, images) = (parts.compactMap(\.text), parts.filter { $0.text == nil })
        fields["content"] = .string(texts.joined(separator: "\n"))
        return [.object(fields), .object(["role": "user", "content": .array(images.map(part))])]
    }

    private static func part(_ part: ChatMessage.Part) -> JSON {
        switch part {
        case .text(let text): .object(["type": "text", "text": .string(text)])
        case .image(let file):
            .object(["type": "image_url", "image_url": .object(["url": .string(file.imageDataURL)])])
        }
    }
}

/// Reads the chunks of a streamed chat completion.
struct ChatsReader: AnswerEventReader {
    private struct Choice {
        var calls: [ReceivedCall] = []
        var reason: String?
    }

    private var choices: [Choice]
    private let custom: Set<String>
    private var usage: ReceivedChat.Usage?
    private(set) var isWhole = false

    init(choices: Int, custom: Set<String>) {
        self.choices = Array(repeating: Choice(), count: choices)
        self.custom = custom
    }

    mutating func read(_ event: String) throws(ServiceProblem) -> [ChoiceDelta] {
        if event == "[DONE]" {
            isWhole = true
            return []
        }
        let chunk: ReceivedChat
        do throws(APIError) {
            chunk = try JSON.decode(ReceivedChat.self, from: Array(event.utf8))
        } catch {
            throw .unreadable("an event: \(error.message)")
        }
        if let error = chunk.error { throw .reported(event, message: error.message) }
        usage = chunk.usage ?? usage
        var deltas: [ChoiceDelta] = []
        for received in chunk.choices {
            let index = received.index ?? 0
            guard choices.indices.contains(index) else { continue }
            var delta = ChoiceDelta(choice: index)
            delta.reasoning = received.thought ?? ""
            delta.content = received.content ?? received.refusal ?? ""
            for call in received.toolCalls { delta.calls += choices[index].calls.read(call, custom) }
            if let reason = received.finishReason {
                if reason == "content_filter" { throw .refused }
                delta.calls += choices[index].calls.finish()
                choices[index].reason = reason
                // Some servers send no [DONE].
                if choices.allSatisfy({ $0.reason != nil }) { isWhole = true }
            }
            if !delta.reasoning.isEmpty || !delta.content.isEmpty || !delta.calls.isEmpty { deltas.append(delta) }
        }
        return deltas
    }

    mutating func finish() -> [ChoiceDelta] {
        choices.indices.map { index in
            // The counts are those of all choices together.
            let counts = index == 0 ? usage : nil
            let usage = Usage(
                promptTokens: counts?.promptTokens ?? 0, cachedTokens: counts?.cachedTokens ?? 0,
                completionTokens: counts?.completionTokens ?? 0)
            let finish = ChoiceDelta.Finish(
                reason: choices[index].reason == "length" ? .length : .stop, usage: usage,
                reasoningTokens: counts?.reasoningTokens ?? 0, countsPrompt: index == 0,
                hasCalls: !choices[index].calls.isEmpty)
            return ChoiceDelta(choice: index, finish: finish)
        }
    }
}

/// A call as its pieces come.
struct ReceivedCall: Sendable {
    /// The service's number of the call.
    var index: Int
    /// The JSON so far, if the tool takes text: it is passed on when it is complete.
    var text: String?
}

extension [ReceivedCall] {
    fileprivate mutating func read(_ call: ToolCall, _ custom: Set<String>) -> [CallDelta] {
        let (name, arguments) = (call.function?.name ?? "", call.function?.arguments ?? "")
        // Without an index, a piece with a name begins a call.
        let index = call.index ?? (name.isEmpty ? count - 1 : count)
        return begin(index, id: call.id, name: name, custom) + append(arguments, to: index)
    }

    /// - Returns: The call's first delta, unless it has begun.
    mutating func begin(_ index: Int, id: String?, name: String, _ custom: Set<String>) -> [CallDelta] {
        guard !name.isEmpty, !contains(where: { $0.index == index }) else { return [] }
        append(ReceivedCall(index: index, text: custom.contains(name) ? "" : nil))
        let id = id.flatMap { $0.isEmpty ? nil : $0 } ?? .unique("call_")
        return [CallDelta(index: count - 1, id: id, name: name, isCustom: custom.contains(name))]
    }

    mutating func append(_ arguments: String, to index: Int) -> [CallDelta] {
        guard !arguments.isEmpty, let place = firstIndex(where: { $0.index == index }) else { return [] }
        if self[place].text != nil {
            self[place].text? += arguments
            return []
        }
        return [CallDelta(index: place, arguments: arguments)]
    }

    /// The texts of the tools that take text.
    mutating func finish() -> [CallDelta] {
        indices.compactMap { place in
            guard let json = self[place].text else { return nil }
            self[place].text = nil
            return CallDelta(index: place, isCustom: true, arguments: CallDelta.input(json))
        }
    }
}
