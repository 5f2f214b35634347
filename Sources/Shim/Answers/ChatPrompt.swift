import Dialects
import LocalLLM
import Tokenizer
import Wire

/// A conversation as the model reads it.
struct ChatPrompt: Sendable {
    let prompt: ModelPrompt
    /// Tells thoughts, content and calls apart; has read what the answer was made to begin with.
    let parser: AnswerParser
    /// What that beginning means, and its length in bytes.
    var begun: [AnswerDelta] = []
    var begunBytes = 0

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
        if let tools, tools.choice != .none, !tools.definitions.isEmpty {
            if dialect.history.showsTools {
                form.variables["tools"] = .array(tools.definitions.map { $0.mapStrings(tokenizer.quote) })
            } else {
                messages.insert(.system(tools.instructions), at: 0)
            }
        }
        messages = dialect.history.showsCalls ? messages.withNamedResults : messages.withoutTools
        let text = try rendered(messages.map { $0.quoted(for: tokenizer) }, form)
        let isCallable = tools?.areCallable == true
        var parser = AnswerParser(dialect, tools: isCallable ? tools?.declared ?? [] : [], after: text)
        let beginning = tools?.forcedBeginning(dialect, after: text) ?? ""
        let begun = parser.read(beginning)
        return ChatPrompt(
            prompt: try prompt(ofQuoted: text + beginning, images: images), parser: parser, begun: begun,
            begunBytes: beginning.utf8.count)
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
