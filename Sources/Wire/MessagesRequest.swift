public import Foundation

/// Body of `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's Messages API.
///
/// Field names and ranges: Anthropic API reference, "Create a Message", version 2023-06-01.
public struct MessagesRequest: Codable, Sendable {
    public var model: String
    public var messages: [Turn]
    public var system: Content?
    /// Required except for counting tokens.
    public var maxTokens: WholeNumber?
    public var stopSequences: [String]?
    public var stream: Bool?
    /// 0...1.
    public var temperature: Double?
    public var topP: Double?
    public var topK: WholeNumber?
    public var tools: [Tool]?
    public var toolChoice: ToolChoice?
    public var thinking: Thinking?
    /// Format of the answer's text; older name of `outputConfig.format`.
    public var outputFormat: ResponseFormat?
    public var outputConfig: OutputConfig?

    public struct OutputConfig: Codable, Sendable {
        public var format: ResponseFormat?
    }

    /// A message of the conversation.
    public struct Turn: Codable, Sendable {
        /// `user`, `assistant` or `system`.
        public var role: String
        public var content: Content
    }

    /// A text, or blocks.
    public enum Content: Codable, Sendable {
        case text(String)
        case blocks([Block])

        public init(from decoder: any Decoder) throws {
            let isList = (try? decoder.unkeyedContainer()) != nil
            let container = try decoder.singleValueContainer()
            self = isList ? .blocks(try container.decode([Block].self)) : .text(try container.decode(String.self))
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .blocks(let blocks): try container.encode(blocks)
            }
        }

        public var blocks: [Block] {
            switch self {
            case .text(let text): [Block(type: "text", text: text)]
            case .blocks(let blocks): blocks
            }
        }

        /// All text; blocks are joined by line breaks, as parts of chats are.
        public var text: String { blocks.compactMap { $0.type == "text" ? $0.text : nil }.joined(separator: "\n") }

        /// The text of instructions, without the line that Claude Code writes for billing. The line differs in every
        /// request, so that no later part of the prompt could be found in the prefix cache.
        public var instructions: String {
            blocks.compactMap { block in
                guard block.type == "text", let text = block.text else { return nil }
                guard text.hasPrefix("x-anthropic-billing-header:") else { return text }
                let rest = text.drop { !$0.isNewline }.dropFirst()
                return rest.isEmpty ? nil : String(rest)
            }.joined(separator: "\n")
        }
    }

    /// A content block. Each type uses some of the fields.
    public struct Block: Codable, Sendable {
        public var type: String
        public var text: String?
        public var thinking: String?
        // Fields of `tool_use`:
        public var id: String?
        public var name: String?
        public var input: RawJSON?
        // Fields of `tool_result`:
        public var toolUseID: String?
        public var content: Content?
        public var isError: Bool?
        // Field of `image`:
        public var source: Source?

        /// The source of an image.
        public struct Source: Codable, Sendable {
            /// `base64`; `url`, with `--allow-image-urls`; others are not supported.
            public var type: String
            public var data: String?
            public var url: String?

            public init(data: Data) { (type, self.data) = ("base64", data.base64EncodedString()) }

            /// The decoded file; `nil` unless it is valid base64.
            public var file: Data? { type == "base64" ? data.flatMap { Data(base64Encoded: $0) } : nil }
        }

        init(type: String, text: String) {
            self.type = type
            self.text = text
        }

        enum CodingKeys: String, CodingKey {
            case type, text, thinking, id, name, input, content, source
            case toolUseID = "tool_use_id"
            case isError = "is_error"
        }
    }

    public struct Tool: Codable, Sendable {
        /// `custom` or absent; Anthropic's own tools are not supported.
        public var type: String?
        public var name: String
        public var description: String?
        public var inputSchema: RawJSON?
        /// Whether a schema that cannot be enforced exactly is an error.
        public var strict: Bool?

        enum CodingKeys: String, CodingKey {
            case type, name, description, strict
            case inputSchema = "input_schema"
        }
    }

    public struct ToolChoice: Codable, Sendable {
        /// `auto`, `any`, `tool` or `none`.
        public var type: String
        public var name: String?
        public var disableParallelToolUse: Bool?

        enum CodingKeys: String, CodingKey {
            case type, name
            case disableParallelToolUse = "disable_parallel_tool_use"
        }
    }

    public struct Thinking: Codable, Sendable {
        /// `enabled`, `adaptive` or `disabled`.
        public var type: String
        public var budgetTokens: WholeNumber?

        enum CodingKeys: String, CodingKey {
            case type
            case budgetTokens = "budget_tokens"
        }
    }

    enum CodingKeys: String, CodingKey {
        case model, messages, system, stream, temperature, tools, thinking
        case maxTokens = "max_tokens"
        case stopSequences = "stop_sequences"
        case topP = "top_p"
        case topK = "top_k"
        case toolChoice = "tool_choice"
        case outputFormat = "output_format"
        case outputConfig = "output_config"
    }

    /// Maximum reasoning tokens; `nil`: no limit.
    public var maximumThoughts: Int64? { thinking?.type == "enabled" ? thinking?.budgetTokens?.value : nil }

    /// The requested format of the answer's text; `nil`: none.
    public func requestedFormat() throws(APIError) -> RequestedFormat? {
        if let format = outputConfig?.format { return try format.requested("output_config.format") }
        return try outputFormat?.requested("output_format")
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    ///
    /// - Parameters:
    ///   - isCounted: Whether the request only counts tokens.
    ///   - seesImages: Whether user messages may have images.
    public func validated(isCounted: Bool = false, seesImages: Bool = false) throws(APIError) -> Self {
        guard !messages.isEmpty else { throw .invalid("messages", "must have at least one message") }
        guard messages.count <= 2048 else {
            throw .invalid("messages", "must have at most 2048 messages, got \(messages.count)")
        }
        if !isCounted, maxTokens == nil { throw .init(missing: "max_tokens") }
        try checkRange("max_tokens", maxTokens, 1...Int64.max)
        try checkRange("temperature", temperature, 0...1)
        try checkRange("top_p", topP, 0...1)
        try checkRange("top_k", topK, 0...Int64.max)
        if stopSequences?.contains("") == true { throw .invalid("stop_sequences", "a stop sequence must not be empty") }
        for (index, turn) in messages.enumerated() {
            guard ["user", "assistant", "system"].contains(turn.role) else {
                throw .invalid(
                    "messages[\(index)].role", "expected user, assistant or system, found \"\(turn.role)\"")
            }
            try Self.check(turn.content, turn.role, "messages[\(index)].content", seesImages)
        }
        if let system { try Self.check(system, "system", "system") }
        for (index, tool) in (tools ?? []).enumerated() {
            if let type = tool.type, type != "custom" {
                throw .unsupported("tools[\(index)].type", "tools of type \"\(type)\" are")
            }
            guard tool.inputSchema != nil else { throw .init(missing: "tools[\(index)].input_schema") }
        }
        try checkRange("thinking.budget_tokens", thinking?.budgetTokens, 0...Int64(Int32.max))
        _ = try requestedFormat()
        if let thinking, !["enabled", "adaptive", "disabled"].contains(thinking.type) {
            throw .invalid("thinking.type", "expected enabled, adaptive or disabled, found \"\(thinking.type)\"")
        }
        return self
    }

    private static func check(
        _ content: Content, _ role: String, _ path: String, _ seesImages: Bool = false
    ) throws(APIError) {
        for (index, block) in content.blocks.enumerated() {
            let path = "\(path)[\(index)]"
            switch (block.type, role) {
            case ("text", _): if block.text == nil { throw .init(missing: "\(path).text") }
            case ("image", "user"):
                guard seesImages else {
                    throw .unsupported("\(path).type", "without an image encoder (--mmproj) images are")
                }
                guard let source = block.source else { throw .init(missing: "\(path).source") }
                guard source.file != nil else {
                    throw .invalid(
                        "\(path).source",
                        "expected {\"type\": \"base64\", \"data\": \"…\"} (web addresses are read by servers started with "
                            + "--allow-image-urls)")
                }
            case ("thinking", "assistant"): if block.thinking == nil { throw .init(missing: "\(path).thinking") }
            case ("redacted_thinking", "assistant"): break
            case ("tool_use", "assistant"):
                guard block.id != nil else { throw .init(missing: "\(path).id") }
                guard block.name?.isEmpty == false else { throw .init(missing: "\(path).name") }
                guard block.input != nil else { throw .init(missing: "\(path).input") }
            case ("tool_result", "user"):
                guard block.toolUseID != nil else { throw .init(missing: "\(path).tool_use_id") }
                if let content = block.content { try check(content, "tool_result", "\(path).content") }
            default: throw .unsupported("\(path).type", "blocks of type \"\(block.type)\" are")
            }
        }
    }
}
