import Dialects
import Foundation
import HTTP
import LocalLLM
import Template
import Tokenizer
import Wire

/// `POST /v1/messages`: Anthropic's API, answered by local models.
@Sendable func createMessage(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await inAnthropicForm(context) {
        let request = try JSON.decode(MessagesRequest.self, from: context.request.body)
        let body = try await services.fetchingImages(of: request, context).validated(seesImages: services.seesImages)
        let tools = try OfferedTools(body)
        context.trace.engine = .local
        let events = answers(to: context, services, promptField: "messages") {
            try await beginMessage(body, tools, context, services)
        }
        return try await .answer(events, streams: body.stream == true, context.trace)
    }
}

/// `POST /v1/messages/count_tokens`
@Sendable func countMessageTokens(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await inAnthropicForm(context) {
        let request = try JSON.decode(MessagesRequest.self, from: context.request.body)
        let body = try await services.fetchingImages(of: request, context)
            .validated(isCounted: true, seesImages: services.seesImages)
        let tools = try OfferedTools(body)
        let lease = try await services.lease(body.model, for: context, takesAdapters: true)
        defer { withExtendedLifetime(lease) {} }
        let messages = body.chatMessages
        let prompt = try await preparing(context) {
            try lease.model.prompt(
                messages, tools: tools, ChatForm(variables: body.templateVariables),
                images: try await lease.model.read(messages, cacheSalt: nil))
        }
        return try .json(TokenCount(inputTokens: prompt.tokens.count))
    }
}

/// Runs `body`; errors become Anthropic's error body.
private func inAnthropicForm(
    _ context: RequestContext, _ body: () async throws -> Response
) async throws -> Response {
    do {
        return try await body()
    } catch let error where !(error is CancellationError) {
        let error = APIError(reporting: error)
        context.trace.failed(error)
        var response = try errorResponse(error)
        response.body = .bytes(try JSON.encode(MessagesErrorBody(error)))
        return response
    }
}

private func beginMessage(
    _ body: MessagesRequest, _ tools: OfferedTools, _ context: RequestContext, _ services: Services
) async throws -> Answer<MessagesEncoder> {
    let lease = try await services.lease(body.model, for: context, takesAdapters: true)
    let model = lease.model
    let messages = body.chatMessages
    try services.review(messages)
    let prompt = try model.prompt(
        messages, tools: tools, ChatForm(variables: body.templateVariables),
        images: try await model.read(messages, cacheSalt: nil))
    context.trace.addPromptTokens(prompt.tokens.count)
    var options = SamplingOptions(
        temperature: body.temperature, topK: body.topK.map { Int(min($0.value, 1 << 30)) }, topP: body.topP,
        maximumTokens: body.maxTokens.map { Int(min($0.value, 1 << 30)) }, stop: body.stopSequences ?? [])
    options.adapterScales = lease.adapterScales
    options.shownTokens = model.markerTokens
    options.thoughtLimit = model.thoughtLimit(body.maximumThoughts, prompt)
    options.constraint = try model.constraint(on: prompt, body.requestedFormat(), tools, context.trace)
    let choice = Choice(
        generation: model.generate(prompt.prompt, options: options, group: nil),
        reader: ChoiceReader(
            choice: 0, countsPrompt: true, prompt: prompt, tools: tools, guardrail: services.guardrail))
    let message = MessagesAnswer(
        id: uniqueID("msg_"), model: lease.id, usage: .init(TokenUsage(promptTokens: prompt.tokens.count)))
    return Answer(lease: lease, form: MessagesEncoder(message), choices: [choice])
}

extension OfferedTools {
    /// The tools of a validated request in Anthropic's form.
    fileprivate init(_ body: MessagesRequest) throws(APIError) {
        var tools: [(name: String, description: String?, parameters: TemplateValue, isStrict: Bool)] = []
        for (index, tool) in (body.tools ?? []).enumerated() {
            guard let schema = tool.inputSchema, let value = try? TemplateValue(json: Data(schema.text)) else {
                throw .invalid(
                    "tools[\(index)].input_schema", "nests deeper than \(TemplateValue.maximumJSONDepth) levels")
            }
            tools.append((tool.name, tool.description, value, tool.strict == true))
        }
        let choice: Choice
        switch body.toolChoice?.type ?? "auto" {
        case "auto": choice = .auto
        case "any": choice = .required
        case "none": choice = .none
        case "tool":
            guard let name = body.toolChoice?.name else { throw .init(missing: "tool_choice.name") }
            choice = .named(name)
        case let type: throw .invalid("tool_choice.type", "expected auto, any, tool or none, found \"\(type)\"")
        }
        try self.init(tools, choice, allowsParallel: body.toolChoice?.disableParallelToolUse != true)
    }
}

extension MessagesRequest {
    /// Sets the template variables that switch reasoning.
    fileprivate var templateVariables: TemplateObject {
        var variables: TemplateObject = [:]
        if let thinking { variables.switchThoughts(on: thinking.type != "disabled") }
        return variables
    }

    /// The messages for the template. Tool results become separate messages before the user's text.
    fileprivate var chatMessages: [ChatMessage] {
        var result: [ChatMessage] = []
        func addSystem(_ content: Content) {
            let text = content.instructions
            if !text.isEmpty { result.append(.system(text)) }
        }
        if let system { addSystem(system) }
        for turn in messages {
            if turn.role == "system" {
                addSystem(turn.content)
                continue
            }
            let blocks = turn.content.blocks
            for block in blocks where block.type == "tool_result" {
                var message = ChatMessage(role: .tool, content: block.content?.text ?? "")
                if block.isError == true { message.content = "Error: \(message.content)" }
                message.toolCallID = block.toolUseID
                result.append(message)
            }
            let text = turn.content.text
            guard !text.isEmpty || blocks.contains(where: { $0.type != "tool_result" }) || blocks.isEmpty else {
                continue
            }
            let thoughts = blocks.compactMap(\.thinking).joined(separator: "\n\n")
            var message = ChatMessage(
                role: .init(rawValue: turn.role), content: text, reasoning: thoughts.isEmpty ? nil : thoughts)
            let calls = blocks.filter { $0.type == "tool_use" }.map { block in
                ChatMessage.ToolCall(
                    id: block.id ?? "", name: block.name ?? "",
                    arguments: String(decoding: block.input?.text ?? Array("{}".utf8), as: UTF8.self))
            }
            message.toolCalls = calls.isEmpty ? nil : calls
            let files = blocks.compactMap { $0.source?.file }
            if !files.isEmpty {
                message.images = files
                message.content = blocks.compactMap { block in
                    block.type == "image"
                        ? String(ChatMessage.imagePlaceholder)
                        : block.text?.filter { $0 != ChatMessage.imagePlaceholder }
                }.joined(separator: "\n")
            }
            result.append(message)
        }
        return result
    }
}
