import JSON

/// One event of a streamed chat completion.
///
/// A stream has for each choice a chunk with the role, chunks with text, and one with the finish reason and an empty
/// delta; then, if requested, a chunk with the usage and no choices. All share id, time and model.
package struct ChatCompletionChunk: Codable, Sendable, Equatable {
    package struct Choice: Codable, Sendable, Equatable {
        package var index: Int
        package var delta: Delta
        /// `null` in all chunks but the last of a choice.
        @Null package var finishReason: String? = nil
        @Null package var logprobs: ChatLogprobs? = nil

        enum CodingKeys: String, CodingKey {
            case index, delta, logprobs
            case finishReason = "finish_reason"
        }
    }

    package struct Delta: Codable, Sendable, Equatable {
        package var role: String?
        package var content: String?
        package var reasoningContent: String?
        package var toolCalls: [ToolCall]?
        package var functionCall: ToolCall.Function?

        enum CodingKeys: String, CodingKey {
            case role, content
            case reasoningContent = "reasoning_content"
            case toolCalls = "tool_calls"
            case functionCall = "function_call"
        }

        package init(role: String? = nil, content: String? = nil, reasoningContent: String? = nil) {
            self.role = role
            self.content = content
            self.reasoningContent = reasoningContent
        }

        /// An increment of a tool call.
        package init(toolCall: ToolCall) { toolCalls = [toolCall] }
        package init(functionCall: ToolCall.Function) { self.functionCall = functionCall }
    }

    package var id: String
    package var object: String
    package var created: Int
    package var model: String
    package var choices: [Choice]
    package var systemFingerprint: String
    /// Absent unless requested; then `null` in all chunks but the last.
    package var usage: Null<TokenUsage>?
    /// llama.cpp's extensions, only if requested.
    package var timings: Timings?
    package var promptProgress: PromptProgressFields?

    enum CodingKeys: String, CodingKey {
        case id, object, created, model, choices, usage, timings
        case promptProgress = "prompt_progress"
        case systemFingerprint = "system_fingerprint"
    }
}

/// Encodes the chunks of one stream as server-sent events.
///
/// Most chunks carry a token's text; everything but the text is encoded once.
package struct ChatCompletionChunkEncoder: Sendable {
    private var template: ChatCompletionChunk
    /// Bytes before and after the text, by choice.
    private var beforeText: [[UInt8]] = []
    private var afterText: [[UInt8]] = []

    package init(_ identity: AnswerIdentity, choices: Int, includeUsage: Bool) throws {
        template = ChatCompletionChunk(
            id: identity.id, object: "chat.completion.chunk", created: identity.created, model: identity.model,
            choices: [], systemFingerprint: identity.systemFingerprint,
            usage: includeUsage ? Null(wrappedValue: nil) : nil)
        // These bytes are unique: inside a string the quotes would be escaped.
        let marker = Array(#""content":"""#.utf8)
        for choice in 0..<choices {
            let event = try delta(.init(content: ""), choice: choice)
            let start = event.indices.first { event[$0...].starts(with: marker) } ?? event.startIndex
            beforeText.append(Array(event[..<(start + marker.count - 2)]))
            afterText.append(Array(event[(start + marker.count)...]))
        }
    }

    package func role(choice: Int) throws -> [UInt8] {
        try delta(.init(role: "assistant", content: ""), choice: choice)
    }

    package func text(_ text: String, choice: Int) throws -> [UInt8] {
        try beforeText[choice] + JSON.encode(text) + afterText[choice]
    }

    package func delta(
        _ delta: ChatCompletionChunk.Delta, logprobs: ChatLogprobs? = nil, timings: Timings? = nil, choice: Int
    ) throws -> [UInt8] {
        try event(.init(index: choice, delta: delta, logprobs: logprobs)) { $0.timings = timings }
    }

    package func finish(_ reason: String, timings: Timings? = nil, choice: Int) throws -> [UInt8] {
        try event(.init(index: choice, delta: .init(), finishReason: reason)) { $0.timings = timings }
    }

    package func progress(_ progress: PromptProgressFields, choice: Int) throws -> [UInt8] {
        try event(.init(index: choice, delta: .init())) { $0.promptProgress = progress }
    }

    package func usage(_ usage: TokenUsage) throws -> [UInt8] {
        var chunk = template
        chunk.usage = Null(wrappedValue: usage)
        return ServerSentEvent.data(try JSON.encode(chunk))
    }

    private func event(
        _ choice: ChatCompletionChunk.Choice, _ change: (inout ChatCompletionChunk) -> Void = { _ in }
    ) throws -> [UInt8] {
        var chunk = template
        chunk.choices = [choice]
        change(&chunk)
        return ServerSentEvent.data(try JSON.encode(chunk))
    }
}
