/// Body of `POST /v1/chat/completions`.
///
/// Field names and ranges: OpenAI API reference, "Create chat completion"; `top_k` and what follows it are common
/// extensions of local servers. Unknown fields are ignored: clients written for other servers send theirs too.
public struct ChatCompletionRequest: Codable, Sendable {
    public var model: String
    public var messages: [Message]
    /// 0...2. `nil`: the model's own default, as for every field of sampling.
    public var temperature: Double?
    /// 0...1.
    public var topP: Double?
    /// -2...2.
    public var presencePenalty: Double?
    /// -2...2.
    public var frequencyPenalty: Double?
    public var seed: WholeNumber?
    /// Keys are token ids in decimal, values -100...100.
    public var logitBias: [String: Double]?
    /// Most tokens to generate; the older name of `maxCompletionTokens`.
    public var maxTokens: WholeNumber?
    public var maxCompletionTokens: WholeNumber?
    /// One string or up to four.
    public var stop: OneOrMany<String>?
    public var stream: Bool?
    public var streamOptions: StreamOptions?
    public var n: WholeNumber?

    /// 0 and -1 keep all tokens.
    public var topK: WholeNumber?
    /// 0...1.
    public var minP: Double?
    /// 0...1.
    public var typicalP: Double?
    /// Over 0; 1 is off. llama.cpp's name.
    public var repeatPenalty: Double?
    /// The name of vLLM and others for the same.
    public var repetitionPenalty: Double?

    // Looked at only to refuse what is not served, rather than to answer as if it had not been asked for.
    public var tools: JSONValue?
    public var toolChoice: JSONValue?
    public var functions: JSONValue?
    public var functionCall: JSONValue?
    public var responseFormat: JSONValue?
    public var logprobs: Bool?
    public var topLogprobs: WholeNumber?
    public var modalities: [String]?
    public var audio: JSONValue?

    public struct StreamOptions: Codable, Sendable {
        /// Whether a last chunk reports the usage.
        public var includeUsage: Bool?

        enum CodingKeys: String, CodingKey { case includeUsage = "include_usage" }
    }

    enum CodingKeys: String, CodingKey {
        case model, messages, temperature, seed, stop, stream, n, tools, functions, logprobs, modalities, audio
        case topP = "top_p"
        case presencePenalty = "presence_penalty"
        case frequencyPenalty = "frequency_penalty"
        case logitBias = "logit_bias"
        case maxTokens = "max_tokens"
        case maxCompletionTokens = "max_completion_tokens"
        case streamOptions = "stream_options"
        case topK = "top_k"
        case minP = "min_p"
        case typicalP = "typical_p"
        case repeatPenalty = "repeat_penalty"
        case repetitionPenalty = "repetition_penalty"
        case toolChoice = "tool_choice"
        case functionCall = "function_call"
        case responseFormat = "response_format"
        case topLogprobs = "top_logprobs"
    }
}

/// One message of a request.
public struct Message: Codable, Sendable {
    public var role: String
    public var content: MessageContent?
    public var toolCalls: JSONValue?
    public var functionCall: JSONValue?

    enum CodingKeys: String, CodingKey {
        case role, content
        case toolCalls = "tool_calls"
        case functionCall = "function_call"
    }
}

/// A message's content: a string, or a list of parts.
public enum MessageContent: Codable, Sendable, Equatable {
    case text(String)
    case parts([Part])

    public struct Part: Codable, Sendable, Equatable {
        public var type: String
        public var text: String?
    }

    public init(from decoder: any Decoder) throws {
        let isList = (try? decoder.unkeyedContainer()) != nil
        let container = try decoder.singleValueContainer()
        self = isList ? .parts(try container.decode([Part].self)) : .text(try container.decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .parts(let parts): try container.encode(parts)
        }
    }

    /// All text, joined. In a validated request every part is text.
    public var text: String {
        switch self {
        case .text(let text): text
        case .parts(let parts): parts.compactMap(\.text).joined()
        }
    }
}
