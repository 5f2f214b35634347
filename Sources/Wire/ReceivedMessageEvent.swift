/// An event of a streamed message of Anthropic's API: the fields that its reader needs, of all types together.
package struct ReceivedMessageEvent: Decodable, Sendable {
    package struct Message: Decodable, Sendable {
        package let usage: Usage?
    }

    package struct Block: Decodable, Sendable {
        package let type: String
        package let text: String?
        package let id: String?
        package let name: String?
    }

    package struct Delta: Decodable, Sendable {
        package let text: String?
        package let thinking: String?
        package let partialJSON: String?
        package let stopReason: String?
        package let stopSequence: String?

        enum CodingKeys: String, CodingKey {
            case text, thinking
            case partialJSON = "partial_json"
            case stopReason = "stop_reason"
            case stopSequence = "stop_sequence"
        }
    }

    package struct Usage: Decodable, Sendable {
        package let inputTokens: Int?
        package let cacheCreationInputTokens: Int?
        package let cacheReadInputTokens: Int?
        package let outputTokens: Int?

        enum CodingKeys: String, CodingKey {
            case inputTokens = "input_tokens"
            case cacheCreationInputTokens = "cache_creation_input_tokens"
            case cacheReadInputTokens = "cache_read_input_tokens"
            case outputTokens = "output_tokens"
        }
    }

    package let type: String
    package let index: Int?
    package let message: Message?
    package let contentBlock: Block?
    package let delta: Delta?
    package let usage: Usage?
    package let error: ReceivedError?

    enum CodingKeys: String, CodingKey {
        case type, index, message, delta, usage, error
        case contentBlock = "content_block"
    }
}
