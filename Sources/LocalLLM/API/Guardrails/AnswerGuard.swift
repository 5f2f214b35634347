/// Holds back the text of a streamed answer until a guardrail has passed it.
public struct AnswerGuard: Sendable {
    private let guardrail: any Guardrail
    /// The answer so far, and how many bytes of it have passed.
    private var text = ""
    private var passedBytes = 0

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

/// A guardrail rejected a text.
public struct GuardrailViolation: Error, Equatable, Sendable {
    /// The guardrail's message for the user.
    public var message: String
}
