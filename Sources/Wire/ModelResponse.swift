public import JSON

/// Response of `POST /v1/responses`.
public struct ModelResponse: Codable, Sendable, Equatable {
    public enum Status: String, Codable, Sendable {
        case inProgress = "in_progress"
        case completed, incomplete, failed
    }

    /// One item of output: a message, reasoning, or a tool call.
    public struct Item: Codable, Sendable, Equatable {
        public enum Kind: String, Codable, Sendable {
            case message, reasoning
            case functionCall = "function_call"
            case customToolCall = "custom_tool_call"
        }

        public var type: Kind
        public var id: String
        public var status: Status
        /// `assistant` in messages, else absent.
        public var role: String?
        /// Text parts; absent in calls.
        public var content: [Part]?
        /// Only in reasoning: one part with the reasoning itself if a summary was requested, else empty.
        public var summary: [Part]?
        // Fields of calls:
        public var callID: String?
        public var name: String?
        /// The namespace that the request gave the tool in.
        public var namespace: String?
        /// JSON arguments of a function.
        public var arguments: String?
        /// Text input of a custom tool.
        public var input: String?

        enum CodingKeys: String, CodingKey {
            case type, id, status, role, content, summary, name, namespace, arguments, input
            case callID = "call_id"
        }

        public init(_ type: Kind, id: String) {
            self.type = type
            self.id = id
            status = .inProgress
            role = type == .message ? "assistant" : nil
            content = type == .message || type == .reasoning ? [] : nil
            summary = type == .reasoning ? [] : nil
            arguments = type == .functionCall ? "" : nil
            input = type == .customToolCall ? "" : nil
        }
    }

    public struct Part: Codable, Sendable, Equatable {
        /// `output_text`, `reasoning_text` or `summary_text`.
        public var type: String
        public var text: String
        /// Always empty; `logprobs` is empty unless requested. Both are absent in reasoning.
        public var annotations: [JSON]?
        public var logprobs: [ChatLogprobs.Token]?

        /// An empty part of an item.
        public init(of kind: Item.Kind) {
            type = kind == .message ? "output_text" : "reasoning_text"
            text = ""
            annotations = kind == .message ? [] : nil
            logprobs = kind == .message ? [] : nil
        }

        /// An empty summary part.
        public static var summary: Self {
            var part = Self(of: .reasoning)
            part.type = "summary_text"
            return part
        }
    }

    public struct Failure: Codable, Sendable, Equatable {
        public var code: String
        public var message: String
    }

    public struct IncompleteDetails: Codable, Sendable, Equatable { public var reason: String }

    /// Token counts of a response.
    public struct Usage: Codable, Sendable, Equatable {
        public var inputTokens: Int
        public var inputTokensDetails: InputDetails
        public var outputTokens: Int
        public var outputTokensDetails: OutputDetails
        public var totalTokens: Int

        enum CodingKeys: String, CodingKey {
            case inputTokens = "input_tokens"
            case inputTokensDetails = "input_tokens_details"
            case outputTokens = "output_tokens"
            case outputTokensDetails = "output_tokens_details"
            case totalTokens = "total_tokens"
        }

        public struct InputDetails: Codable, Sendable, Equatable {
            /// Prompt tokens found in the prefix cache.
            public var cachedTokens: Int
            /// Prompt tokens computed, which the prefix cache keeps while there is memory.
            public var cacheWriteTokens: Int

            enum CodingKeys: String, CodingKey {
                case cachedTokens = "cached_tokens"
                case cacheWriteTokens = "cache_write_tokens"
            }
        }

        public struct OutputDetails: Codable, Sendable, Equatable {
            /// Output tokens that are reasoning.
            public var reasoningTokens: Int

            enum CodingKeys: String, CodingKey { case reasoningTokens = "reasoning_tokens" }
        }

        public init(_ usage: TokenUsage) {
            inputTokens = usage.promptTokens
            let cached = usage.promptTokensDetails.cachedTokens
            inputTokensDetails = InputDetails(cachedTokens: cached, cacheWriteTokens: usage.promptTokens - cached)
            outputTokens = usage.completionTokens
            outputTokensDetails = OutputDetails(reasoningTokens: usage.completionTokensDetails.reasoningTokens)
            totalTokens = usage.totalTokens
        }
    }

    public struct ReasoningSettings: Codable, Sendable, Equatable {
        @Null public var effort: String?
        /// Set if the reasoning is also sent as a summary.
        @Null public var summary: String?
    }

    /// The sampling parameters used, with defaults filled in.
    public struct SamplingValues: Sendable {
        public var temperature: Double
        public var topP: Double
        public var presencePenalty: Double
        public var frequencyPenalty: Double
        public var topLogprobs: Int

        public init(
            temperature: Double, topP: Double, presencePenalty: Double, frequencyPenalty: Double, topLogprobs: Int
        ) {
            self.temperature = temperature
            self.topP = topP
            self.presencePenalty = presencePenalty
            self.frequencyPenalty = frequencyPenalty
            self.topLogprobs = topLogprobs
        }
    }

    public struct TextFormat: Codable, Sendable, Equatable {
        public var format = JSON.object(["type": .string("text")])
        public var verbosity: String?
    }

    /// Begins with `resp_`.
    public var id: String
    public var object = "response"
    /// Unix seconds.
    public var createdAt: Int
    /// Unix seconds; only in completed responses.
    @Null public var completedAt: Int? = nil
    public var status = Status.inProgress
    @Null public var error: Failure? = nil
    @Null public var incompleteDetails: IncompleteDetails? = nil
    public var model: String
    public var output: [Item] = []
    /// Absent until the response has ended: the specification allows no null.
    public var usage: Usage? = nil

    // Repeated from the request:
    @Null public var instructions: String?
    @Null public var maxOutputTokens: Int64?
    @Null public var previousResponseID: String?
    public var reasoning: ReasoningSettings
    public var store: Bool
    public var background = false
    @Null public var maxToolCalls: Int64?
    public var serviceTier = "default"

    // Sampling parameters used:
    public var temperature: Double
    public var topP: Double
    public var presencePenalty: Double
    public var frequencyPenalty: Double
    public var topLogprobs: Int

    public var metadata: [String: String]
    public var text = TextFormat()
    public var tools: JSON
    public var toolChoice: JSON
    public var parallelToolCalls: Bool
    public var truncation = "disabled"

    enum CodingKeys: String, CodingKey {
        case id, object, status, error, model, output, usage, instructions, temperature, store, metadata, text, tools
        case truncation, reasoning, background
        case createdAt = "created_at"
        case completedAt = "completed_at"
        case maxToolCalls = "max_tool_calls"
        case serviceTier = "service_tier"
        case presencePenalty = "presence_penalty"
        case frequencyPenalty = "frequency_penalty"
        case topLogprobs = "top_logprobs"
        case incompleteDetails = "incomplete_details"
        case maxOutputTokens = "max_output_tokens"
        case previousResponseID = "previous_response_id"
        case topP = "top_p"
        case toolChoice = "tool_choice"
        case parallelToolCalls = "parallel_tool_calls"
    }

    public init(_ identity: AnswerIdentity, for request: ResponseRequest, sampling: SamplingValues) {
        id = identity.id
        createdAt = identity.created
        model = identity.model
        instructions = request.instructions
        maxOutputTokens = request.sampling.maximumTokens
        previousResponseID = request.previousResponseID
        reasoning = ReasoningSettings(effort: request.reasoning?.effort, summary: request.reasoning?.requestedSummary)
        maxToolCalls = request.maxToolCalls?.value
        temperature = sampling.temperature
        topP = sampling.topP
        presencePenalty = sampling.presencePenalty
        frequencyPenalty = sampling.frequencyPenalty
        topLogprobs = sampling.topLogprobs
        store = request.store ?? true
        metadata = request.metadata ?? [:]
        if let format = request.text?.format, let json = try? format.json { text.format = json }
        text.verbosity = request.text?.verbosity
        tools = request.tools.flatMap { $0.isEmpty ? nil : $0 } ?? .array([])
        toolChoice = request.toolChoice ?? .string("auto")
        parallelToolCalls = request.parallelToolCalls ?? true
    }

    /// Records the end of the generation.
    ///
    /// - Parameter time: Unix seconds.
    public mutating func finish(reason: String, usage: TokenUsage, at time: Int) {
        let isCut = reason == "length"
        status = isCut ? .incomplete : .completed
        completedAt = isCut ? nil : time
        incompleteDetails = isCut ? IncompleteDetails(reason: "max_output_tokens") : nil
        self.usage = Usage(usage)
    }

    /// The response as it was before its first output.
    public var begun: Self {
        var begun = self
        (begun.status, begun.output) = (.inProgress, [])
        (begun.completedAt, begun.error, begun.incompleteDetails, begun.usage) = (nil, nil, nil, nil)
        return begun
    }

    public mutating func fail(_ error: APIError) {
        status = .failed
        // One of the few codes defined here by OpenAI's API.
        self.error = Failure(code: APIError.Kind.server.rawValue, message: error.message)
    }
}

/// One event of a streamed response. Each event type uses some of the fields.
public struct ResponseEvent: Codable, Sendable, Equatable {
    public var type: String
    /// Number of the event in its stream, from 0.
    public var sequenceNumber: Int
    public var response: ModelResponse?
    public var outputIndex: Int?
    public var item: ModelResponse.Item?
    public var itemID: String?
    public var contentIndex: Int?
    public var summaryIndex: Int?
    public var part: ModelResponse.Part?
    public var delta: String?
    public var text: String?
    public var logprobs: [ChatLogprobs.Token]?
    // Fields of calls:
    public var name: String?
    public var arguments: String?
    public var input: String?

    enum CodingKeys: String, CodingKey {
        case type, response, item, part, delta, text, logprobs, name, arguments, input
        case sequenceNumber = "sequence_number"
        case outputIndex = "output_index"
        case itemID = "item_id"
        case contentIndex = "content_index"
        case summaryIndex = "summary_index"
    }

    public init(_ type: String, sequenceNumber: Int) {
        self.type = type
        self.sequenceNumber = sequenceNumber
    }
}

/// The event for an error before or within a streamed response.
public struct ResponseErrorEvent: Codable, Sendable, Equatable {
    public var type = "error"
    @Null public var code: String?
    public var message: String
    @Null public var param: String?
    /// `nil` if the preceding events came from the upstream.
    public var sequenceNumber: Int?

    enum CodingKeys: String, CodingKey {
        case type, code, message, param
        case sequenceNumber = "sequence_number"
    }

    public init(_ error: APIError, sequenceNumber: Int?) {
        code = error.code
        message = error.message
        param = error.param
        self.sequenceNumber = sequenceNumber
    }
}
