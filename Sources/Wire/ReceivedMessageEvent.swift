/// An event of a streamed message of Anthropic's API: the fields that its reader needs, of all types together.
public struct ReceivedMessageEvent: Decodable, Sendable {
    public struct Message: Decodable, Sendable {
        public let usage: Usage?
    }

    public struct Block: Decodable, Sendable {
        public let type: String
        public let text: String?
        public let id: String?
        public let name: String?
    }

    public struct Delta: Decodable, Sendable {
        public let text: String?
        public let thinking: String?
        public let partialJSON: String?
        public let stopReason: String?
        public let stopSequence: String?

        enum CodingKeys: String, CodingKey {
            case text, thinking
            case partialJSON = "partial_json"
            case stopReason = "stop_reason"
            case stopSequence = "stop_sequence"
        }
    }

    public struct Usage: Decodable, Sendable {
        public let inputTokens: Int?
        public let cacheCreationInputTokens: Int?
        public let cacheReadInputTokens: Int?
        public let outputTokens: Int?

        enum CodingKeys: String, CodingKey {
            case inputTokens = "input_tokens"
            case cacheCreationInputTokens = "cache_creation_input_tokens"
            case cacheReadInputTokens = "cache_read_input_tokens"
            case outputTokens = "output_tokens"
        }
    }

    public let type: String
    public let index: Int?
    public let message: Message?
    public let contentBlock: Block?
    public let delta: Delta?
    public let usage: Usage?
    public let error: ReceivedError?

    enum CodingKeys: String, CodingKey {
        case type, index, message, delta, usage, error
        case contentBlock = "content_block"
    }
}
