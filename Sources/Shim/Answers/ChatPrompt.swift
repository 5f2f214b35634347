import Dialects
import LocalLLM
import Template
import Tokenizer
import Wire

/// A conversation rendered and tokenized for the model.
struct ChatPrompt: Sendable {
    /// The rendered template, and the forced beginning of the answer.
    let text: String
    let beginning: String
    let prompt: ModelPrompt
    /// Separates reasoning, content and calls; has already read `beginning`.
    let parser: AnswerParser
    /// The parsed `beginning`.
    var begun: [AnswerDelta] = []
    var begunBytes: Int { beginning.utf8.count }
    var tokens: [Int32] { prompt.tokens }
}

/// Rendering options of a request.
struct ChatForm: Sendable {
    var variables: TemplateObject = [:]
    var ending = PromptEnding.answer
    /// Used instead of the model's own template.
    var template: ChatTemplate?
}

extension LanguageModel {
    /// - Parameters:
    ///   - tools: The offered tools and `tool_choice`.
    ///   - images: The messages' images, in order.
    func prompt(
        _ messages: [ChatMessage], tools: OfferedTools? = nil, _ form: ChatForm, images: [ModelImage] = []
    ) throws(LocalModelError) -> ChatPrompt {
        let tokenizer = try tokenizer
        var (messages, form) = (messages, form)
        let offered = tools.flatMap { $0.choice == .none ? nil : $0.definitions } ?? []
        let prepared = LocalModel.preparing(messages, tools: offered, for: dialect, quote: tokenizer.quote)
        if dialect.isHarmony, case .string(let effort)? = form.variables["reasoning_effort"] {
            // The model was trained on low, medium and high.
            let known = ["none": "low", "minimal": "low", "xhigh": "high"]
            form.variables["reasoning_effort"] = .string(known[effort] ?? effort)
        }
        messages = prepared.messages
        for (key, value) in prepared.variables.entries { form.variables[key] = value }
        messages = messages.map { $0.quoted(for: tokenizer) }
        let text: String
        do {
            text = try rendered(messages, form)
        } catch {
            guard case .templateFailed = error, !offered.isEmpty else { throw error }
            // Many templates print the description of each tool, which requests may omit; some refuse system messages,
            // also the one that lists the tools for templates that do not print them.
            if case .array(let tools)? = form.variables["tools"] {
                form.variables["tools"] = .array(tools.map(\.described))
            } else if let user = messages.firstIndex(where: { $0.role == .user }), messages[0].role == .system {
                messages[user].content = messages[0].content + "\n\n" + messages[user].content
                messages.removeFirst()
            }
            text = try rendered(messages, form)
        }
        let isCallable = tools?.areCallable == true
        var parser = AnswerParser(dialect, tools: isCallable ? tools?.declared ?? [] : [], after: text)
        let beginning = tools?.forcedBeginning(dialect, after: text) ?? ""
        let begun = parser.read(beginning)
        return ChatPrompt(
            text: text, beginning: beginning, prompt: try prompt(ofQuoted: text + beginning, images: images),
            parser: parser, begun: begun)
    }

    /// Renders the messages. Many templates allow a system message only at the start; clients send several, or later
    /// ones. If the template refuses, all system messages are merged into one at the start.
    func rendered(_ messages: [ChatMessage], _ form: ChatForm) throws(LocalModelError) -> String {
        func render(_ messages: [ChatMessage]) throws(LocalModelError) -> String {
            try self.render(messages, variables: form.variables, ending: form.ending, template: form.template)
        }
        do {
            return try render(messages)
        } catch {
            let system = messages.filter { $0.role == .system }.map(\.content).joined(separator: "\n\n")
            let merged = [.system(system)] + messages.filter { $0.role != .system }
            guard case .templateFailed = error, !system.isEmpty, merged != messages else { throw error }
            return try render(merged)
        }
    }
}

extension TemplateValue {
    /// A tool with an empty description if it has none.
    fileprivate var described: TemplateValue {
        guard case .object(var tool) = self, case .object(var function)? = tool["function"],
            function["description"] == nil
        else { return self }
        function["description"] = .string("")
        tool["function"] = .object(function)
        return .object(tool)
    }
}
