package import Constraint
package import Template

/// What a model is to answer, and everything that decides the answer.
public struct ConversationRequest: Sendable {
    package enum Input: Sendable {
        /// A conversation, whose last message is answered or continued.
        case messages([ChatMessage])
        /// Texts that are continued as they are. Each has choices of its own.
        case texts([TextPrompt])
    }

    package var input: Input
    package var tools = ToolOffer()
    package var rendering = Rendering()
    /// What the content has to be; `nil`: any text.
    package var format: ContentFormat?
    package var sampling = SamplingOptions()
    /// Maximum reasoning tokens; `nil`: no limit.
    package var maximumThoughts: Int?
    /// Choices for each prompt.
    package var choices = 1
    /// Text that much of the answer is expected to repeat.
    package var prediction: String?
    /// Whether a choice begins with its prompt. Of texts only.
    package var echoesPrompt = false
    package var omitsReasoning = false
    /// Whether every delta has the token counts and times so far.
    package var reportsUsage = false

    package init(_ input: Input) { self.input = input }

    /// The conversation; empty if texts are continued.
    package var messages: [ChatMessage] { if case .messages(let messages) = input { messages } else { [] } }

    /// How the chat template is used.
    package struct Rendering: Sendable {
        package var variables: TemplateObject = [:]
        package var ending = PromptEnding.answer
        /// Used instead of the model's own template.
        package var template: ChatTemplate?
        /// Whether reasoning stays in the content, with its markers.
        package var keepsReasoning = false

        package init() {}
    }
}

/// A text to continue, and its tokens.
package struct TextPrompt: Sendable {
    package let text: String
    package let tokens: [Int32]
    /// Whether the generated text continues a text.
    var hasText: Bool { !text.isEmpty }

    package init(text: String, tokens: [Int32]) { (self.text, self.tokens) = (text, tokens) }
}

/// What the content of an answer has to be.
package struct ContentFormat: Sendable {
    package var source: Constraint.Source
    /// What errors call it, such as the field of a request.
    package var name: String

    package init(_ source: Constraint.Source, name: String) { (self.source, self.name) = (source, name) }
}

/// A schema, expression or grammar of a request that cannot be enforced.
package struct ContentFormatError: Error, CustomStringConvertible {
    /// The format's name, or a tool's field.
    package let field: String
    package let reason: String
    package var description: String { "\(field): \(reason)" }
}
