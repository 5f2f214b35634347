import Dialects
import LocalLLM
import Tokenizer
import Wire

/// A conversation as the model reads it.
struct ChatPrompt: Sendable {
    let tokens: [Int32]
    /// Tells the model's thoughts from its answer.
    let parser: AnswerParser
}

extension ChatEngine {
    func prompt(_ messages: [ChatMessage], variables: TemplateObject) throws(LocalModelError) -> ChatPrompt {
        let tokenizer = try tokenizer
        let text = try rendered(messages.map { $0.quoted(for: tokenizer) }, variables: variables)
        let parser = AnswerParser(dialect, tools: [], after: text)
        return ChatPrompt(tokens: try tokens(ofQuoted: text), parser: parser)
    }

    /// Renders the messages as they are. Many templates allow one system message only, the first; but clients send
    /// several, or one later on. Where the template refuses, they become one.
    func rendered(_ messages: [ChatMessage], variables: TemplateObject) throws(LocalModelError) -> String {
        do {
            return try render(messages, variables: variables)
        } catch {
            let system = messages.filter { $0.role == .system }.map(\.content).joined(separator: "\n\n")
            let merged = [.system(system)] + messages.filter { $0.role != .system }
            guard case .templateFailed = error, !system.isEmpty, merged != messages else { throw error }
            return try render(merged, variables: variables)
        }
    }
}
