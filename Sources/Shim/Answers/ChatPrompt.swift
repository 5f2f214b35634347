import Dialects
import LocalLLM
import Template
import Tokenizer
import Wire

/// A conversation as the model reads it.
struct ChatPrompt: Sendable {
    /// As rendered, and what the answer is made to begin with.
    let text: String
    let beginning: String
    let prompt: ModelPrompt
    /// Tells thoughts, content and calls apart; has read what the answer was made to begin with.
    let parser: AnswerParser
    /// What that beginning means, and its length in bytes.
    var begun: [AnswerDelta] = []
    var begunBytes: Int { beginning.utf8.count }
    var tokens: [Int32] { prompt.tokens }
}

/// How a request wants its messages rendered.
struct ChatForm: Sendable {
    var variables: TemplateObject = [:]
    var ending = PromptEnding.answer
    /// Takes the place of the model's own template.
    var template: ChatTemplate?
}

extension ChatEngine {
    /// - Parameters:
    ///   - tools: What the model may call, and whether it must.
    ///   - images: What `read` made of the messages.
    func prompt(
        _ messages: [ChatMessage], tools: OfferedTools? = nil, _ form: ChatForm, images: [ModelImage] = []
    ) throws(LocalModelError) -> ChatPrompt {
        let tokenizer = try tokenizer
        var (messages, form) = (messages, form)
        let offered = tools.flatMap { $0.choice == .none ? nil : $0.definitions } ?? []
        let prepared = LocalModel.preparing(messages, tools: offered, for: dialect, quote: tokenizer.quote)
        if dialect.isHarmony, case .string(let effort)? = form.variables["reasoning_effort"] {
            // The model was trained on these three.
            let known = ["none": "low", "minimal": "low", "xhigh": "high"]
            form.variables["reasoning_effort"] = .string(known[effort] ?? effort)
        }
        messages = prepared.messages
        for (key, value) in prepared.variables.entries { form.variables[key] = value }
        let text = try rendered(messages.map { $0.quoted(for: tokenizer) }, form)
        let isCallable = tools?.areCallable == true
        var parser = AnswerParser(dialect, tools: isCallable ? tools?.declared ?? [] : [], after: text)
        let beginning = tools?.forcedBeginning(dialect, after: text) ?? ""
        let begun = parser.read(beginning)
        return ChatPrompt(
            text: text, beginning: beginning, prompt: try prompt(ofQuoted: text + beginning, images: images),
            parser: parser, begun: begun)
    }

    /// Renders the messages as they are. Many templates allow one system message only, the first; but clients send
    /// several, or one later on. Where the template refuses, they become one.
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
