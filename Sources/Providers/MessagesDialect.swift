import Foundation
import JSON
import LocalLLM
import Template
import Wire

/// Anthropic's messages.
///
/// Anthropic API reference, "Create a Message" and "Streaming messages", version 2023-06-01.
enum MessagesDialect: ServiceDialect {
    /// Maximum length of an answer if the request has none: the API requires one.
    private static let maximumTokens = 8192
    /// The API's least budget of reasoning tokens.
    private static let leastThoughts = 1024

    static func body(_ request: ConversationRequest, model: String) throws -> WrittenRequest {
        let (sampling, tools) = (request.sampling, request.tools)
        let system = request.messages.filter { $0.role == .system }.map(\.content).joined(separator: "\n\n")
        let limit = sampling.maximumTokens ?? maximumTokens
        var body: JSON.Object = [
            "model": .string(model), "stream": true, "max_tokens": JSON(limit),
            "messages": .array(turns(request.messages)),
        ]
        if !system.isEmpty { body["system"] = .string(system) }
        // The API's range ends at 1.
        body["temperature"] = sampling.temperature.map { JSON(min($0, 1)) }
        body["top_p"] = sampling.topP.map { JSON($0) }
        body["top_k"] = sampling.topK.flatMap { $0 > 0 ? JSON($0) : nil }
        // The API refuses blank ones.
        let stop = sampling.stop.filter { !$0.allSatisfy(\.isWhitespace) }
        if !stop.isEmpty { body["stop_sequences"] = .array(stop.map { .string($0) }) }
        if let thoughts = request.maximumThoughts, thoughts >= leastThoughts, thoughts < limit {
            body["thinking"] = .object(["type": "enabled", "budget_tokens": JSON(thoughts)])
        }
        if !tools.definitions.isEmpty {
            body["tools"] = .array(tools.definitions.compactMap(tool))
            body["tool_choice"] = choice(tools)
        }
        switch try request.sentFormat {
        case .text: break
        case .object: throw NotSentError("response_format", "the service takes a JSON Schema, not any JSON object")
        case .schema(let schema):
            body["output_config"] = .object([
                "format": .object(["type": "json_schema", "schema": schema])
            ])
        }
        guard request.choices == 1 else { throw NotSentError("n", "the service gives one answer for each request") }
        var unsent = sampling.fieldsMissing(in: body)
        if !stop.isEmpty, stop.count < sampling.stop.count { unsent.append("stop of white space") }
        if request.rendering.variables["reasoning_effort"] != nil { unsent.append("reasoning_effort") }
        return WrittenRequest(body: .object(body), warnings: unsent.warnings)
    }

    static func reader(for request: ConversationRequest) -> MessagesReader { MessagesReader(request.tools.custom) }

    private static func choice(_ tools: ToolOffer) -> JSON {
        var fields: JSON.Object = [:]
        switch tools.choice {
        case .auto: fields["type"] = "auto"
        case .none: fields["type"] = "none"
        case .required: fields["type"] = "any"
        case .named(let name): (fields["type"], fields["name"]) = ("tool", .string(name))
        }
        if tools.choice != .none, !tools.allowsSeveralCalls { fields["disable_parallel_tool_use"] = true }
        return .object(fields)
    }

    /// - Parameter definition: A tool in the chat endpoint's form.
    private static func tool(_ definition: TemplateValue) -> JSON? {
        guard case .object(let whole) = JSON(definition), case .object(let function)? = whole["function"] else {
            return nil
        }
        var tool: JSON.Object = [:]
        tool["name"] = function["name"]
        tool["description"] = function["description"]
        tool["input_schema"] = function["parameters"] ?? .object(["type": "object"])
        return .object(tool)
    }

    /// The messages besides the system's, alternating between user and assistant.
    private static func turns(_ messages: [ChatMessage]) -> [JSON] {
        var turns: [(role: String, blocks: [JSON])] = []
        for message in messages where message.role != .system {
            let role = message.role == .assistant ? "assistant" : "user"
            let blocks = blocks(message)
            if turns.last?.role == role {
                turns[turns.count - 1].blocks += blocks
            } else {
                turns.append((role, blocks))
            }
        }
        return turns.filter { !$0.blocks.isEmpty }.map { turn in
            .object(["role": .string(turn.role), "content": .array(turn.blocks)])
        }
    }

    private static func blocks(_ message: ChatMessage) -> [JSON] {
        let content = message.parts.compactMap(block)
        if message.role == .tool {
            return [
                .object([
                    "type": "tool_result", "tool_use_id": .string(message.toolCallID ?? ""),
                    "content": .array(content),
                ])
            ]
        }
        return content
            + (message.toolCalls ?? []).map { call in
                let input = try? JSON.decode(JSON.self, from: Array(call.arguments.utf8))
                return .object([
                    "type": "tool_use", "id": .string(call.id), "name": .string(call.name),
                    "input": input ?? .object([:]),
                ])
            }
    }

    /// - Returns: `nil` for an empty text, which the API refuses.
    private static func block(_ part: ChatMessage.Part) -> JSON? {
        switch part {
        case .text(let text):
            return text.isEmpty ? nil : .object(["type": "text", "text": .string(text)])
        case .image(let file):
            return .object([
                "type": "image",
                "source": .object([
                    "type": "base64", "media_type": .string("image/\(file.imageType)"),
                    "data": .string(file.base64EncodedString()),
                ]),
            ])
        }
    }
}

/// Reads the events of a streamed message.
struct MessagesReader: AnswerEventReader {
    private let custom: Set<String>
    private var calls: [ReceivedCall] = []
    private var usage = Usage(promptTokens: 0, cachedTokens: 0, completionTokens: 0)
    private var reason: String?
    private var stopString: String?
    private(set) var isWhole = false

    init(_ custom: Set<String>) { self.custom = custom }

    mutating func read(_ event: String) throws(ServiceProblem) -> [ChoiceDelta] {
        let received: ReceivedMessageEvent
        do throws(APIError) {
            received = try JSON.decode(ReceivedMessageEvent.self, from: Array(event.utf8))
        } catch {
            throw .unreadable("an event: \(error.message)")
        }
        var delta = ChoiceDelta(choice: 0)
        switch received.type {
        case "error": throw .reported(event, message: received.error?.message)
        case "message_start": count(received.message?.usage)
        case "content_block_start":
            guard let block = received.contentBlock else { break }
            if block.type == "tool_use" {
                delta.calls = calls.begin(received.index ?? 0, id: block.id, name: block.name ?? "", custom)
            }
            delta.content = block.text ?? ""
        case "content_block_delta":
            guard let piece = received.delta else { break }
            delta.content = piece.text ?? ""
            delta.reasoning = piece.thinking ?? ""
            delta.calls = calls.append(piece.partialJSON ?? "", to: received.index ?? 0)
        case "message_delta":
            reason = received.delta?.stopReason ?? reason
            stopString = received.delta?.stopSequence ?? stopString
            if reason == "refusal" { throw .refused }
            count(received.usage)
            delta.calls = calls.finish()
        case "message_stop": isWhole = true
        default: break
        }
        return delta.content.isEmpty && delta.reasoning.isEmpty && delta.calls.isEmpty ? [] : [delta]
    }

    /// Later counts replace earlier ones; the prompt's are those that are read, written to and found in the cache.
    private mutating func count(_ counts: ReceivedMessageEvent.Usage?) {
        guard let counts else { return }
        if let input = counts.inputTokens {
            usage.cachedTokens = counts.cacheReadInputTokens ?? 0
            usage.promptTokens = input + usage.cachedTokens + (counts.cacheCreationInputTokens ?? 0)
        }
        usage.completionTokens = counts.outputTokens ?? usage.completionTokens
    }

    mutating func finish() -> [ChoiceDelta] {
        let isCut = reason == "max_tokens" || reason == "model_context_window_exceeded"
        return [
            ChoiceDelta(
                choice: 0,
                finish: .init(
                    reason: isCut ? .length : .stop, usage: usage, hasCalls: !calls.isEmpty, stopString: stopString))
        ]
    }
}
