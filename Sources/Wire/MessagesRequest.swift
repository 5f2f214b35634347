package import Foundation
package import JSON

/// Body of `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's Messages API, with the sampling fields that
/// chats have beyond OpenAI's.
package typealias MessagesRequest = GenerationRequest<MessagesFields>

/// Fields of a messages request besides those that it shares with chats.
///
/// Field names and ranges: Anthropic API reference, "Create a Message", version 2023-06-01.
package struct MessagesFields: Codable, Sendable {
    /// Absent: the server's only model.
    package var model: String?
    package var messages: [Turn]
    package var system: Content?
    package var tools: [Tool]?
    package var toolChoice: ToolChoice?
    package var thinking: Thinking?
    /// Format of the answer's text; older name of `outputConfig.format`.
    package var outputFormat: ResponseFormat?
    package var outputConfig: OutputConfig?

    package struct OutputConfig: Codable, Sendable {
        package var format: ResponseFormat?
    }

    /// A message of the conversation.
    package struct Turn: Codable, Sendable {
        /// `user`, `assistant` or `system`.
        package var role: String
        package var content: Content
    }

    /// A text, or blocks.
    package enum Content: Codable, Sendable {
        case text(String)
        case blocks([Block])

        package init(from decoder: any Decoder) throws {
            let isList = (try? decoder.unkeyedContainer()) != nil
            let container = try decoder.singleValueContainer()
            self = isList ? .blocks(try container.decode([Block].self)) : .text(try container.decode(String.self))
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .blocks(let blocks): try container.encode(blocks)
            }
        }

        package var blocks: [Block] {
            switch self {
            case .text(let text): [Block(type: "text", text: text)]
            case .blocks(let blocks): blocks
            }
        }

        fileprivate var hasImage: Bool {
            blocks.contains { $0.type == "image" || $0.content?.hasImage == true }
        }

        /// All text; blocks are joined by line breaks, as parts of chats are.
        package var text: String { blocks.compactMap { $0.type == "text" ? $0.text : nil }.joined(separator: "\n") }

        /// The text of instructions, without the line that Claude Code writes for billing. The line differs in every
        /// request, so that no later part of the prompt could be found in the prefix cache.
        package var instructions: String {
            blocks.compactMap { block in
                guard block.type == "text", let text = block.text else { return nil }
                guard text.hasPrefix("x-anthropic-billing-header:") else { return text }
                let rest = text.drop { !$0.isNewline }.dropFirst()
                return rest.isEmpty ? nil : String(rest)
            }.joined(separator: "\n")
        }
    }

    /// A content block. Each type uses some of the fields.
    package struct Block: Codable, Sendable {
        package var type: String
        package var text: String?
        package var thinking: String?
        // Fields of `tool_use`:
        package var id: String?
        package var name: String?
        package var input: JSON?
        // Fields of `tool_result`:
        package var toolUseID: String?
        package var content: Content?
        package var isError: Bool?
        // Fields of `document` and `search_result`, whose `content` is that of `tool_result`:
        package var title: String?
        package var context: String?
        /// An object in these; in text blocks of the history a list, which is ignored.
        package var citations: JSON?
        // Field of `image`, `document` and `search_result`:
        package var source: Source?
        // Field of `tool_reference`:
        package var toolName: String?

        /// The source of an image or document; of a search result, its address.
        package struct Source: Codable, Sendable {
            /// Images: `base64`; `url`, with `--allow-image-urls`. Documents: `text`, `content`. Absent in a search
            /// result, whose source is a string.
            package var type: String?
            /// A file in base64, or a document's text.
            package var data: String?
            package var url: String?
            /// Blocks of a document.
            package var content: Content?

            private enum CodingKeys: CodingKey { case type, data, url, content }

            package init(data: Data) { (type, self.data) = ("base64", data.base64EncodedString()) }

            package init(from decoder: any Decoder) throws {
                if let text = try? decoder.singleValueContainer().decode(String.self) {
                    url = text
                    return
                }
                let fields = try decoder.container(keyedBy: CodingKeys.self)
                type = try fields.decode(String.self, forKey: .type)
                data = try fields.decodeIfPresent(String.self, forKey: .data)
                url = try fields.decodeIfPresent(String.self, forKey: .url)
                content = try fields.decodeIfPresent(Content.self, forKey: .content)
            }

            /// The decoded file; `nil` unless it is valid base64.
            package var file: Data? { type == "base64" ? data.flatMap { Data(base64Encoded: $0) } : nil }
        }

        init(type: String, text: String) {
            self.type = type
            self.text = text
        }

        enum CodingKeys: String, CodingKey {
            case type, text, thinking, id, name, input, content, source, title, context, citations
            case toolUseID = "tool_use_id"
            case toolName = "tool_name"
            case isError = "is_error"
        }
    }

    package struct Tool: Codable, Sendable {
        /// `custom` or absent; Anthropic's own tools are not supported.
        package var type: String?
        package var name: String
        package var description: String?
        package var inputSchema: JSON?
        /// Whether a schema that cannot be enforced exactly is an error.
        package var strict: Bool?
        /// Whether the tool is offered only after a `tool_reference` to it.
        package var deferLoading: Bool?

        enum CodingKeys: String, CodingKey {
            case type, name, description, strict
            case inputSchema = "input_schema"
            case deferLoading = "defer_loading"
        }
    }

    package struct ToolChoice: Codable, Sendable {
        /// `auto`, `any`, `tool` or `none`.
        package var type: String
        package var name: String?
        package var disableParallelToolUse: Bool?

        enum CodingKeys: String, CodingKey {
            case type, name
            case disableParallelToolUse = "disable_parallel_tool_use"
        }
    }

    package struct Thinking: Codable, Sendable {
        /// `enabled`, `adaptive` or `disabled`.
        package var type: String
        package var budgetTokens: WholeNumber?

        enum CodingKeys: String, CodingKey {
            case type
            case budgetTokens = "budget_tokens"
        }
    }

    enum CodingKeys: String, CodingKey {
        case model, messages, system, tools, thinking
        case toolChoice = "tool_choice"
        case outputFormat = "output_format"
        case outputConfig = "output_config"
    }

    /// Names of the tools that results refer to.
    private var referencedTools: Set<String> {
        Set(
            messages.flatMap(\.content.blocks).flatMap { $0.content?.blocks ?? [] }.compactMap { block in
                block.type == "tool_reference" ? block.toolName : nil
            })
    }

    /// The tools that the model sees: those that are not deferred, or that a result refers to.
    package var offeredTools: [(index: Int, tool: Tool)] {
        let referenced = referencedTools
        return (tools ?? []).enumerated().filter { $1.deferLoading != true || referenced.contains($1.name) }
            .map { ($0, $1) }
    }
}

extension GenerationRequest<MessagesFields> {
    /// Maximum reasoning tokens; `nil`: no limit.
    package var maximumThoughts: Int64? {
        fields.thinking?.type == "enabled" ? fields.thinking?.budgetTokens?.value : sampling.maximumThoughts
    }

    /// The requested format of the answer's text; `nil`: none.
    package func requestedFormat() throws(APIError) -> RequestedFormat? {
        let other = try generation.requestedFormat()
        let own =
            if let format = fields.outputConfig?.format {
                try format.requested("output_config.format")
            } else {
                try fields.outputFormat?.requested("output_format")
            }
        if let own, let other { throw .invalid(other.field, "allowed only without \(own.field)") }
        return own ?? other
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    ///
    /// - Parameters:
    ///   - isCounted: Whether the request only counts tokens.
    ///   - seesImages: Whether user messages and tool results may have images.
    package func validated(isCounted: Bool = false, seesImages: Bool = false) throws(APIError) -> Self {
        let messages = fields.messages
        guard !messages.isEmpty else { throw .invalid("messages", "must have at least one message") }
        guard messages.count <= 2048 else {
            throw .invalid("messages", "must have at most 2048 messages, got \(messages.count)")
        }
        if !isCounted, sampling.value(spelled: "max_tokens") == nil { throw .init(missing: "max_tokens") }
        try sampling.check("max_tokens", 1...Int64.max)
        try sampling.check("temperature", 0.0...1)
        try sampling.check("top_k", 0...Int64.max)
        try validateGeneration()
        guard generation.choices == 1 else { throw .unsupported("n", "more than one answer is") }
        try fields.checkTools()
        for (index, turn) in messages.enumerated() {
            guard ["user", "assistant", "system"].contains(turn.role) else {
                throw .invalid(
                    "messages[\(index)].role", "expected user, assistant or system, found \"\(turn.role)\"")
            }
            try fields.check(turn.content, turn.role, "messages[\(index)].content", seesImages)
        }
        if let system = fields.system { try fields.check(system, "system", "system") }
        try checkRange("thinking.budget_tokens", fields.thinking?.budgetTokens, 0...Int64(Int32.max))
        if let thinking = fields.thinking, !["enabled", "adaptive", "disabled"].contains(thinking.type) {
            throw .invalid("thinking.type", "expected enabled, adaptive or disabled, found \"\(thinking.type)\"")
        }
        try checkContinued()
        return self
    }

    /// Checks a last message that the answer continues.
    private func checkContinued() throws(APIError) {
        guard let last = fields.messages.last, last.role == "assistant" else { return }
        let path = "messages[\(fields.messages.count - 1)].content"
        let hasText = !last.content.text.allSatisfy(\.isWhitespace)
        if !hasText, last.content.blocks.contains(where: { $0.type == "thinking" }) {
            throw .invalid(path, "an assistant's thinking cannot be continued, only its text")
        }
        let hasCalls = last.content.blocks.contains { $0.type == "tool_use" }
        guard hasText, !hasCalls, let format = try requestedFormat() else { return }
        throw .invalid(
            format.field, "cannot be combined with a last message of role assistant, which the answer continues")
    }
}

extension MessagesFields {
    /// Whether a message or a tool's result has an image.
    package var hasImage: Bool { messages.contains { $0.content.hasImage } }

    fileprivate func checkTools() throws(APIError) {
        for (index, tool) in (tools ?? []).enumerated() {
            if let type = tool.type, type != "custom" {
                throw .unsupported("tools[\(index)].type", "tools of type \"\(type)\" are")
            }
            guard tool.inputSchema != nil else { throw .init(missing: "tools[\(index)].input_schema") }
        }
        if tools?.isEmpty == false, tools?.allSatisfy({ $0.deferLoading == true }) == true {
            throw .invalid("tools", "at least one tool must have no defer_loading: the model could not find the others")
        }
    }

    fileprivate func check(
        _ content: Content, _ place: String, _ path: String, _ seesImages: Bool = false
    ) throws(APIError) {
        for (index, block) in content.blocks.enumerated() {
            try check(block, place, "\(path)[\(index)]", seesImages)
        }
    }

    /// - Parameter place: The role of the message, or the type of the block that contains this one.
    private func check(_ block: Block, _ place: String, _ path: String, _ seesImages: Bool) throws(APIError) {
        switch (block.type, place) {
        case ("text", _): if block.text == nil { throw .init(missing: "\(path).text") }
        case ("image", "user"), ("image", "tool_result"), ("image", "document"):
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
            if let content = block.content { try check(content, "tool_result", "\(path).content", seesImages) }
        case ("document", "user"), ("document", "tool_result"):
            try check(document: block, path, seesImages)
        case ("search_result", "user"), ("search_result", "tool_result"):
            try check(citationsOf: block, path)
            guard block.source?.url != nil else { throw .init(missing: "\(path).source") }
            guard block.title != nil else { throw .init(missing: "\(path).title") }
            guard let content = block.content else { throw .init(missing: "\(path).content") }
            try check(content, "search_result", "\(path).content")
        case ("tool_reference", "tool_result"):
            guard let name = block.toolName else { throw .init(missing: "\(path).tool_name") }
            guard tools?.contains(where: { $0.name == name }) == true else {
                throw .invalid("\(path).tool_name", "no such tool: \"\(name)\"")
            }
        default: throw .unsupported("\(path).type", "blocks of type \"\(block.type)\" are")
        }
    }

    private func check(document block: Block, _ path: String, _ seesImages: Bool) throws(APIError) {
        try check(citationsOf: block, path)
        guard let source = block.source else { throw .init(missing: "\(path).source") }
        switch source.type {
        case "text": if source.data == nil { throw .init(missing: "\(path).source.data") }
        case "content":
            guard let content = source.content else { throw .init(missing: "\(path).source.content") }
            try check(content, "document", "\(path).source.content", seesImages)
        default:
            throw .invalid(
                "\(path).source.type",
                "expected text or content, found \"\(source.type ?? "")\" (files such as PDF are not read)")
        }
    }

    private func check(citationsOf block: Block, _ path: String) throws(APIError) {
        guard case .object(let citations)? = block.citations, citations["enabled"] == .bool(true) else { return }
        throw .unsupported("\(path).citations", "citations are")
    }
}
