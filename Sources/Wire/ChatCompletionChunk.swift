import JSON

/// One event of a streamed chat completion.
///
/// A stream has for each choice a chunk with the role, chunks with text, and one with the finish reason and an empty
/// delta; then, if requested, a chunk with the usage and no choices. All share id, time and model.
public struct ChatCompletionChunk: Codable, Sendable, Equatable {
    public struct Choice: Codable, Sendable, Equatable {
        public var index: Int
        public var delta: Delta
        /// `null` in all chunks but the last of a choice.
        @Null public var finishReason: String? = nil
        @Null public var logprobs: ChatLogprobs? = nil

        enum CodingKeys: String, CodingKey {
            case index, delta, logprobs
            case finishReason = "finish_reason"
        }
    }

    public struct Delta: Codable, Sendable, Equatable {
        public var role: String?
        public var content: String?
        public var reasoningContent: String?
        public var toolCalls: [ToolCall]?
        public var functionCall: ToolCall.Function?

        enum CodingKeys: String, CodingKey {
            case role, content
            case reasoningContent = "reasoning_content"
            case toolCalls = "tool_calls"
            case functionCall = "function_call"
        }

        public init(role: String? = nil, content: String? = nil, reasoningContent: String? = nil) {
            self.role = role
            self.content = content
            self.reasoningContent = reasoningContent
        }

        /// An increment of a tool call.
        public init(toolCall: ToolCall) { toolCalls = [toolCall] }
        public init(functionCall: ToolCall.Function) { self.functionCall = functionCall }
    }

    public var id: String
    public var object: String
    public var created: Int
    public var model: String
    public var choices: [Choice]
    public var systemFingerprint: String
    /// Absent unless requested; then `null` in all chunks but the last.
    public var usage: Null<TokenUsage>?
    /// llama.cpp's extensions, only if requested.
    public var timings: Timings?
    public var promptProgress: PromptProgressFields?

    enum CodingKeys: String, CodingKey {
        case id, object, created, model, choices, usage, timings
        case promptProgress = "prompt_progress"
        case systemFingerprint = "system_fingerprint"
    }
}

/// Encodes the chunks of one stream as server-sent events.
///
/// Most chunks carry a token's text; everything but the text is encoded once.
public struct ChatCompletionChunkEncoder: Sendable {
    private var template: ChatCompletionChunk
    /// Bytes before and after the text, by choice.
    private var beforeText: [[UInt8]] = []
    private var afterText: [[UInt8]] = []

    public init(_ identity: AnswerIdentity, choices: Int, includeUsage: Bool) throws {
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

    public func role(choice: Int) throws -> [UInt8] {
        try delta(.init(role: "assistant", content: ""), choice: choice)
    }

    public func text(_ text: String, choice: Int) throws -> [UInt8] {
        try beforeText[choice] + JSON.encode(text) + afterText[choice]
    }

    public func delta(
        _ delta: ChatCompletionChunk.Delta, logprobs: ChatLogprobs? = nil, timings: Timings? = nil, choice: Int
    ) throws -> [UInt8] {
        try event(.init(index: choice, delta: delta, logprobs: logprobs)) { $0.timings = timings }
    }

    public func finish(_ reason: String, timings: Timings? = nil, choice: Int) throws -> [UInt8] {
        try event(.init(index: choice, delta: .init(), finishReason: reason)) { $0.timings = timings }
    }

    public func progress(_ progress: PromptProgressFields, choice: Int) throws -> [UInt8] {
        try event(.init(index: choice, delta: .init())) { $0.promptProgress = progress }
    }

    public func usage(_ usage: TokenUsage) throws -> [UInt8] {
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
