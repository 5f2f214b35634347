package import JSON

/// Response of `POST /v1/responses`.
package struct ModelResponse: Codable, Sendable, Equatable {
    package enum Status: String, Codable, Sendable {
        case inProgress = "in_progress"
        case completed, incomplete, failed
        /// Only in the background: not begun, and ended by the client.
        case queued, cancelled

        package var isEnd: Bool { self != .queued && self != .inProgress }
    }

    /// One item of output: a message, reasoning, or a tool call.
    package struct Item: Codable, Sendable, Equatable {
        package enum Kind: String, Codable, Sendable {
            case message, reasoning
            case functionCall = "function_call"
            case customToolCall = "custom_tool_call"
        }

        package var type: Kind
        package var id: String
        package var status: Status
        /// `assistant` in messages, else absent.
        package var role: String?
        /// Text parts; absent in calls.
        package var content: [Part]?
        /// Only in reasoning: one part with the reasoning itself if a summary was requested, else empty.
        package var summary: [Part]?
        // Fields of calls:
        package var callID: String?
        package var name: String?
        /// The namespace that the request gave the tool in.
        package var namespace: String?
        /// JSON arguments of a function.
        package var arguments: String?
        /// Text input of a custom tool.
        package var input: String?

        enum CodingKeys: String, CodingKey {
            case type, id, status, role, content, summary, name, namespace, arguments, input
            case callID = "call_id"
        }

        package init(_ type: Kind, id: String) {
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

    package struct Part: Codable, Sendable, Equatable {
        /// `output_text`, `reasoning_text` or `summary_text`.
        package var type: String
        package var text: String
        /// Always empty; `logprobs` is empty unless requested. Both are absent in reasoning.
        package var annotations: [JSON]?
        package var logprobs: [ChatLogprobs.Token]?

        /// An empty part of an item.
        package init(of kind: Item.Kind) {
            type = kind == .message ? "output_text" : "reasoning_text"
            text = ""
            annotations = kind == .message ? [] : nil
            logprobs = kind == .message ? [] : nil
        }

        /// An empty summary part.
        package static var summary: Self {
            var part = Self(of: .reasoning)
            part.type = "summary_text"
            return part
        }
    }

    package struct Failure: Codable, Sendable, Equatable {
        package var code: String
        package var message: String
    }

    /// The conversation that gets the response's items.
    package struct Conversation: Codable, Sendable, Equatable { package var id: String }

    package struct IncompleteDetails: Codable, Sendable, Equatable { package var reason: String }

    /// Token counts of a response.
    package struct Usage: Codable, Sendable, Equatable {
        package var inputTokens: Int
        package var inputTokensDetails: InputDetails
        package var outputTokens: Int
        package var outputTokensDetails: OutputDetails
        package var totalTokens: Int

        enum CodingKeys: String, CodingKey {
            case inputTokens = "input_tokens"
            case inputTokensDetails = "input_tokens_details"
            case outputTokens = "output_tokens"
            case outputTokensDetails = "output_tokens_details"
            case totalTokens = "total_tokens"
        }

        package struct InputDetails: Codable, Sendable, Equatable {
            /// Prompt tokens found in the prefix cache.
            package var cachedTokens: Int
            /// Prompt tokens computed, which the prefix cache keeps while there is memory.
            package var cacheWriteTokens: Int

            enum CodingKeys: String, CodingKey {
                case cachedTokens = "cached_tokens"
                case cacheWriteTokens = "cache_write_tokens"
            }
        }

        package struct OutputDetails: Codable, Sendable, Equatable {
            /// Output tokens that are reasoning.
            package var reasoningTokens: Int

            enum CodingKeys: String, CodingKey { case reasoningTokens = "reasoning_tokens" }
        }

        package init(_ usage: TokenUsage) {
            inputTokens = usage.promptTokens
            let cached = usage.promptTokensDetails.cachedTokens
            inputTokensDetails = InputDetails(cachedTokens: cached, cacheWriteTokens: usage.promptTokens - cached)
            outputTokens = usage.completionTokens
            outputTokensDetails = OutputDetails(reasoningTokens: usage.completionTokensDetails.reasoningTokens)
            totalTokens = usage.totalTokens
        }
    }

    package struct ReasoningSettings: Codable, Sendable, Equatable {
        @Null package var effort: String?
        /// Set if the reasoning is also sent as a summary.
        @Null package var summary: String?
    }

    /// The sampling parameters used, with defaults filled in.
    package struct SamplingValues: Sendable {
        package var temperature: Double
        package var topP: Double
        package var presencePenalty: Double
        package var frequencyPenalty: Double
        package var topLogprobs: Int

        package init(
            temperature: Double, topP: Double, presencePenalty: Double, frequencyPenalty: Double, topLogprobs: Int
        ) {
            self.temperature = temperature
            self.topP = topP
            self.presencePenalty = presencePenalty
            self.frequencyPenalty = frequencyPenalty
            self.topLogprobs = topLogprobs
        }
    }

    package struct TextFormat: Codable, Sendable, Equatable {
        package var format = JSON.object(["type": .string("text")])
        package var verbosity: String?
    }

    /// Begins with `resp_`.
    package var id: String
    package var object = "response"
    /// Unix seconds.
    package var createdAt: Int
    /// Unix seconds; only in completed responses.
    @Null package var completedAt: Int? = nil
    package var status = Status.inProgress
    @Null package var error: Failure? = nil
    @Null package var incompleteDetails: IncompleteDetails? = nil
    package var model: String
    package var output: [Item] = []
    /// Absent until the response has ended: the specification allows no null.
    package var usage: Usage? = nil

    // Repeated from the request:
    @Null package var instructions: String?
    @Null package var maxOutputTokens: Int64?
    @Null package var previousResponseID: String?
    package var reasoning: ReasoningSettings
    package var store: Bool
    package var background = false
    /// Absent outside a conversation.
    package var conversation: Conversation? = nil
    @Null package var maxToolCalls: Int64?
    package var serviceTier = "default"

    // Sampling parameters used:
    package var temperature: Double
    package var topP: Double
    package var presencePenalty: Double
    package var frequencyPenalty: Double
    package var topLogprobs: Int

    package var metadata: [String: String]
    package var text = TextFormat()
    package var tools: JSON
    package var toolChoice: JSON
    package var parallelToolCalls: Bool
    package var truncation = "disabled"

    enum CodingKeys: String, CodingKey {
        case id, object, status, error, model, output, usage, instructions, temperature, store, metadata, text, tools
        case truncation, reasoning, background, conversation
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

    package init(_ identity: AnswerIdentity, for request: ResponseRequest, sampling: SamplingValues) {
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
        background = request.background == true
        conversation = request.conversation.map { Conversation(id: $0.id) }
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
    package mutating func finish(reason: String, usage: TokenUsage, at time: Int) {
        let isCut = reason == "length"
        status = isCut ? .incomplete : .completed
        completedAt = isCut ? nil : time
        incompleteDetails = isCut ? IncompleteDetails(reason: "max_output_tokens") : nil
        self.usage = Usage(usage)
    }

    /// The response as it was before its first output.
    package var begun: Self {
        var begun = self
        (begun.status, begun.output) = (.inProgress, [])
        (begun.completedAt, begun.error, begun.incompleteDetails, begun.usage) = (nil, nil, nil, nil)
        return begun
    }

    /// Records that the client ended the response.
    package mutating func cancel() {
        status = .cancelled
        if !output.isEmpty, !output[output.count - 1].status.isEnd { output[output.count - 1].status = .incomplete }
    }

    package mutating func fail(_ error: APIError) {
        status = .failed
        // One of the few codes defined here by OpenAI's API.
        self.error = Failure(code: APIError.Kind.server.rawValue, message: error.message)
    }
}

/// One event of a streamed response. Each event type uses some of the fields.
package struct ResponseEvent: Codable, Sendable, Equatable {
    package var type: String
    /// Number of the event in its stream, from 0.
    package var sequenceNumber: Int
    package var response: ModelResponse?
    package var outputIndex: Int?
    package var item: ModelResponse.Item?
    package var itemID: String?
    package var contentIndex: Int?
    package var summaryIndex: Int?
    package var part: ModelResponse.Part?
    package var delta: String?
    package var text: String?
    package var logprobs: [ChatLogprobs.Token]?
    // Fields of calls:
    package var name: String?
    package var arguments: String?
    package var input: String?

    enum CodingKeys: String, CodingKey {
        case type, response, item, part, delta, text, logprobs, name, arguments, input
        case sequenceNumber = "sequence_number"
        case outputIndex = "output_index"
        case itemID = "item_id"
        case contentIndex = "content_index"
        case summaryIndex = "summary_index"
    }

    package init(_ type: String, sequenceNumber: Int) {
        self.type = type
        self.sequenceNumber = sequenceNumber
    }
}

/// The event for an error before or within a streamed response.
package struct ResponseErrorEvent: Codable, Sendable, Equatable {
    package var type = "error"
    @Null package var code: String?
    package var message: String
    @Null package var param: String?
    /// `nil` if the preceding events came from the upstream.
    package var sequenceNumber: Int?

    enum CodingKeys: String, CodingKey {
        case type, code, message, param
        case sequenceNumber = "sequence_number"
    }

    package init(_ error: APIError, sequenceNumber: Int?) {
        code = error.code
        message = error.message
        param = error.param
        self.sequenceNumber = sequenceNumber
    }
}
