import Dialects
import Foundation
import Template
import Tokenizer

/// How a model is asked: a conversation whose last message ends with a question, up to where the answer's content begins.
struct DecisionPrompt {
    /// Text before a question, the same for all questions about an input.
    let before: String
    /// Text between a question and the answer.
    let after: String
    /// What the model writes before each answer: nothing, or a space.
    let lead: String

    /// - Parameter hasOptions: Whether the questions list options; others are statements.
    /// - Throws: `templateFailed`; `noTokenizer`.
    init(
        hasOptions: Bool, about messages: [ChatMessage], _ model: LocalModel
    ) throws(LocalModelError) {
        let isText = messages.count == 1 && messages[0].role == .user
        let instruction = Self.instruction(hasOptions, isText ? "the text" : "the conversation above")
        var messages = messages
        if isText { messages[0].content = "Text:\n" + messages[0].content }
        guard model.info.hasChatTemplate else {
            let tokenizer = try model.tokenizer
            let texts = messages.map { tokenizer.quote($0.markedContent) } + [instruction]
            (before, after, lead) = (texts.joined(separator: "\n\n"), "\n\nAnswer:", " ")
            return
        }
        let place = UUID().uuidString
        if let last = messages.last, last.role == .user {
            messages[messages.count - 1].content += "\n\n" + instruction + place
        } else {
            messages.append(.user(instruction + place))
        }
        var request = ConversationRequest(.messages(messages))
        request.rendering.variables.set(reasoningEffort: "none")
        let text = try model.rendered(request, isQuoted: true)
        let parts = text.components(separatedBy: place)
        guard parts.count == 2 else {
            throw .templateFailed(
                "The chat template writes the last message \(parts.count - 1) times; questions can be asked if it does so once."
            )
        }
        let beginning = model.dialect.contentBeginning(after: text)
        (before, after) = (parts[0], parts[1] + beginning)
        request.input = .messages(messages + [.assistant(place)])
        request.rendering.ending = .continuation
        let answered = try? model.rendered(request, isQuoted: true).components(separatedBy: place)
        lead =
            answered.flatMap { $0.count == 3 && beginning.isEmpty ? $0[1] : nil }
            .flatMap { $0.hasPrefix(parts[1]) ? String($0.dropFirst(parts[1].count)) : nil }
            .flatMap { $0.allSatisfy(\.isWhitespace) ? $0 : nil } ?? ""
    }

    /// What stands before a question. Of the wordings that were tried on small models, these make the answer most likely one
    /// of the options, and its probabilities best calibrated.
    private static func instruction(_ hasOptions: Bool, _ subject: String) -> String {
        hasOptions
            ? """
            Answer the question about \(subject) with one of its options, word for word.

            Question:

            """
            : """
            Is this statement about \(subject) true or false? Answer with one word.

            Statement about \(subject):

            """
    }

    /// How `before` ends.
    private static let context = ":\n"

    /// A question with its options in an order.
    func text(_ question: DecisionQuestion, order: [Int], _ tokenizer: TextTokenizer) -> String {
        var text = question.message.markedContent
        guard question.kind.hasOptions else { return tokenizer.quote(text) }
        let isOrdered = if case .score = question.kind { true } else { false }
        text += isOrdered ? "\nOptions, from low to high:" : "\nOptions:"
        for index in order {
            let option = question.options[index]
            text += "\n- " + option.text + (option.description.map { ": " + $0 } ?? "")
        }
        return tokenizer.quote(text)
    }

    /// The prompt with a question, and the tokens of each option after it.
    ///
    /// - Parameters:
    ///   - shared: The tokens of `before`.
    ///   - images: The question's.
    func branch(
        _ question: String, _ options: [DecisionQuestion.Option], after shared: ModelPrompt, images: [ModelImage],
        _ model: LocalModel
    ) throws(LocalModelError) -> (prompt: ModelPrompt, options: [[Int32]]) {
        let tokenizer = try model.tokenizer
        let texts = try model.split(question + after, at: images)
        let first = tokenizer.encode(quoted: texts[0], after: Self.context)
        let prompt = try model.adding(images, texts.dropFirst(), to: shared + first, isQuoted: true)
        return (prompt, options.map { tokenizer.encode(quoted: lead + tokenizer.quote($0.text), after: after) })
    }
}

extension TextTokenizer {
    /// The tokens of a text that continues another one.
    fileprivate func encode(quoted text: String, after context: String) -> [Int32] {
        let (whole, known) = (encode(quoted: context + text), encode(quoted: context))
        return whole.starts(with: known) ? Array(whole[known.count...]) : encode(quoted: text)
    }
}
