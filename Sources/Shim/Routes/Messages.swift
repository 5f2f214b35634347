import Dialects
import Foundation
import HTTP
import JSON
import LocalLLM
import Template
import Tokenizer
import Wire

/// `POST /v1/messages`: Anthropic's API, answered by local models.
@Sendable func createMessage(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await converseHereOrUpstream(.messages, context, services, hasImage: \MessagesRequest.hasImage) {
        try await MessagesForm($0, isForwarded: $1, context, services)
    }
}

/// `POST /v1/messages/count_tokens`
@Sendable func countMessageTokens(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await respondHereOrUpstream(.messageTokens, context, services) { (request: MessagesRequest) in
        let form = try await MessagesForm(request, isCounted: true, context, services)
        return try .json(TokenCount(inputTokens: await form.countTokens(for: context, services)))
    }
}

private struct MessagesForm: ForwardableForm {
    typealias Encoder = MessagesEncoder

    private let body: MessagesRequest
    private let tools: OfferedTools
    private let format: ContentFormat?

    /// - Parameters:
    ///   - isForwarded: Whether the upstream answers.
    ///   - isCounted: Whether only the prompt's tokens are wanted.
    init(
        _ request: MessagesRequest, isForwarded: Bool = false, isCounted: Bool = false, _ context: RequestContext,
        _ services: Services
    ) async throws {
        body = try await services.fetchingImages(of: request, context)
            .validated(isCounted: isCounted, seesImages: services.models.seesImages(request.model) || isForwarded)
        tools = try OfferedTools(body)
        format = try body.requestedFormat().map { ContentFormat($0) }
    }

    var model: String? { body.model }
    var streams: Bool { body.stream == true }
    var promptField: String { "messages" }

    func request(for model: (any LanguageModel)?) throws -> ConversationRequest {
        var messages = body.chatMessages
        var rendering = ConversationRequest.Rendering()
        // Sets the template variables that switch reasoning.
        if let thinking = body.fields.thinking { rendering.variables.switchThoughts(on: thinking.type != "disabled") }
        if let last = messages.last, last.role == .assistant, last.toolCalls == nil {
            // The answer continues the text of a last assistant message.
            if last.content.allSatisfy(\.isWhitespace) {
                messages.removeLast()
            } else {
                rendering.ending = .continuation
            }
        }
        var request = ConversationRequest(.messages(messages))
        request.tools = tools.offer
        request.rendering = rendering
        request.format = format
        request.sampling = try SamplingOptions(body.sampling, topLogprobs: nil, for: model)
        request.maximumThoughts = body.maximumThoughts.map { Int($0) }
        return request
    }

    func encoder(
        of conversation: Conversation, named name: String, _: (any LanguageModel)?
    ) -> MessagesEncoder {
        let usage = TokenUsage(promptTokens: conversation.promptTokens)
        return MessagesEncoder(MessagesAnswer(id: .unique("msg_"), model: name, usage: .init(usage)))
    }
}

extension OfferedTools {
    /// The tools of a validated request in Anthropic's form.
    fileprivate init(_ body: MessagesRequest) throws(APIError) {
        var tools: [(path: String, name: String, description: String?, parameters: TemplateValue, isStrict: Bool)] = []
        for (index, tool) in body.fields.offeredTools {
            guard let schema = tool.inputSchema, let value = TemplateValue(schema) else {
                throw .invalid(
                    "tools[\(index)].input_schema", "nests deeper than \(TemplateValue.maximumJSONDepth) levels")
            }
            tools.append(("tools[\(index)]", tool.name, tool.description, value, tool.strict == true))
        }
        let choice: Choice
        let asked = body.fields.toolChoice
        switch asked?.type ?? "auto" {
        case "auto": choice = .auto
        case "any": choice = .required
        case "none": choice = .none
        case "tool":
            guard let name = asked?.name else { throw .init(missing: "tool_choice.name") }
            choice = .named(name)
        case let type: throw .invalid("tool_choice.type", "expected auto, any, tool or none, found \"\(type)\"")
        }
        try self.init(tools, choice, allowsParallel: asked?.disableParallelToolUse != true)
    }
}

extension MessagesRequest {
    /// The messages for the template. Tool results become separate messages before the user's text.
    fileprivate var chatMessages: [ChatMessage] {
        var result: [ChatMessage] = []
        func addSystem(_ content: MessagesFields.Content) {
            let text = content.instructions
            if !text.isEmpty { result.append(.system(text)) }
        }
        if let system = fields.system { addSystem(system) }
        for turn in fields.messages {
            if turn.role == "system" {
                addSystem(turn.content)
                continue
            }
            let blocks = turn.content.blocks
            for block in blocks where block.type == "tool_result" {
                var message = ChatMessage(role: .tool, content: "")
                message.show(block.content?.blocks ?? [])
                if block.isError == true { message.content = "Error: \(message.content)" }
                message.toolCallID = block.toolUseID
                result.append(message)
            }
            let rest = blocks.filter { $0.type != "tool_result" }
            guard !rest.isEmpty || blocks.isEmpty else { continue }
            let thoughts = rest.compactMap(\.thinking).joined(separator: "\n\n")
            var message = ChatMessage(
                role: .init(rawValue: turn.role), content: "", reasoning: thoughts.isEmpty ? nil : thoughts)
            message.show(rest)
            let calls = rest.filter { $0.type == "tool_use" }.map { block in
                ChatMessage.ToolCall(
                    id: block.id ?? "", name: block.name ?? "", arguments: block.input?.text ?? "{}")
            }
            message.toolCalls = calls.isEmpty ? nil : calls
            result.append(message)
        }
        return result
    }
}

extension ChatMessage {
    /// Sets the text, and the images if there are any.
    fileprivate mutating func show(_ blocks: [MessagesFields.Block]) {
        let parts = blocks.flatMap(\.parts)
        let files = parts.compactMap(\.file)
        images = files.isEmpty ? nil : files
        content = parts.map { part in
            guard !files.isEmpty else { return part.text }
            return part.file == nil ? part.text.filter { $0 != Self.imagePlaceholder } : String(Self.imagePlaceholder)
        }.joined(separator: "\n")
    }
}

extension MessagesFields.Block {
    /// What the model sees of a validated block, in order: texts and image files.
    fileprivate var parts: [(text: String, file: Data?)] {
        func inner(_ content: MessagesFields.Content?) -> [(text: String, file: Data?)] {
            content?.blocks.flatMap(\.parts) ?? []
        }
        func tagged(_ name: String, _ text: String?) -> [(text: String, file: Data?)] {
            text.map { [("<\(name)>\($0)</\(name)>", nil)] } ?? []
        }
        switch type {
        case "text": return [(text ?? "", nil)]
        case "image": return source?.file.map { [("", $0)] } ?? []
        case "document":
            let body = source?.type == "text" ? [(source?.data ?? "", nil)] : inner(source?.content)
            return [("<document>", nil)] + tagged("title", title) + tagged("context", context) + body
                + [("</document>", nil)]
        case "search_result":
            return [("<search_result>", nil)] + tagged("source", source?.url) + tagged("title", title)
                + inner(content) + [("</search_result>", nil)]
        case "tool_reference": return [("The tool \(toolName ?? "") can be called now.", nil)]
        default: return []
        }
    }
}
