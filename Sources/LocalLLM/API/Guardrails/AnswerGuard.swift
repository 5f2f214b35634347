/// Holds back the text of a streamed answer until a guardrail has passed it.
public struct AnswerGuard: Sendable {
    private let guardrail: any Guardrail
    /// The answer so far, and how many bytes of it have passed.
    private var text = ""
    private var passedBytes = 0

    /// One guard serves one answer: it remembers how far the answer has passed.
    public init(_ guardrail: any Guardrail) { self.guardrail = guardrail }

    /// - Parameter new: The next piece of the answer.
    /// - Returns: The text that may be shown now.
    public mutating func pass(_ new: String, isLast: Bool) throws(GuardrailViolation) -> String {
        text += new
        let passed = text.utf8.index(text.startIndex, offsetBy: passedBytes)
        switch guardrail.review(GuardedText(.answer, text, passed: passed, isWhole: isLast)) {
        case .violation(let message): throw GuardrailViolation(message: message)
        case .pass(let upTo):
            let end = isLast ? text.endIndex : max(passed, upTo)
            defer { passedBytes = text.utf8.distance(from: text.startIndex, to: end) }
            return String(text[passed..<end])
        }
    }
}

/// Holds back the texts of one choice until a guardrail has passed them.
package struct ChoiceGuard: Sendable {
    private var reasoning: AnswerGuard
    private var content: AnswerGuard
    private var hasContent = false

    package init(_ guardrail: any Guardrail) { (reasoning, content) = (AnswerGuard(guardrail), AnswerGuard(guardrail)) }

    /// Replaces a delta's texts by those that have passed.
    package mutating func pass(_ delta: inout ChoiceDelta) throws(GuardrailViolation) {
        let isLast = delta.finish != nil
        // Reasoning is complete when content begins.
        hasContent = hasContent || !delta.content.isEmpty
        delta.reasoning = try reasoning.pass(delta.reasoning, isLast: isLast || hasContent)
        delta.content = try content.pass(delta.content, isLast: isLast)
    }
}

/// A guardrail rejected a text.
public struct GuardrailViolation: Error, Equatable, Sendable {
    /// The guardrail's message for the user.
    public var message: String
}
