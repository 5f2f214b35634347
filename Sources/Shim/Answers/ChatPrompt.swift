import LocalLLM
import Tokenizer
import Wire

/// A conversation as the model reads it.
struct ChatPrompt: Sendable {
    let tokens: [Int32]
    /// How the model's thoughts are told from its answer; `nil` for a model that does not mark them.
    let reasoning: ReasoningSplitter?
}

/// How a request wants its messages rendered.
struct ChatForm: Sendable {
    var variables: TemplateObject = [:]
    var ending = PromptEnding.answer
    /// Takes the place of the model's own template.
    var template: ChatTemplate?
}

extension ChatEngine {
    func prompt(_ messages: [ChatMessage], _ form: ChatForm) throws(LocalModelError) -> ChatPrompt {
        let tokenizer = try tokenizer
        let text = try rendered(messages.map { $0.quoted(for: tokenizer) }, form)
        let reasoning = marksReasoning ? ReasoningSplitter(after: text) : nil
        return ChatPrompt(tokens: try tokens(ofQuoted: text), reasoning: reasoning)
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
