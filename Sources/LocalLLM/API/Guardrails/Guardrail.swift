/// Reviews prompts and answers, and can stop a request.
///
/// Each prompt is reviewed before the model reads it, each answer repeatedly as it grows. Text is delivered only once
/// all guardrails have passed it. Instructions, written by the app's author, and earlier turns are not reviewed.
public protocol Guardrail: Sendable {
    /// Reviews a text that may still grow. Called from any thread.
    func review(_ text: GuardedText) -> GuardrailVerdict
}

/// A text to review.
public struct GuardedText: Sendable {
    /// Whose text it is.
    public enum Kind: Sendable { case prompt, answer }

    /// Whether a user or the model wrote it.
    public var kind: Kind
    /// The whole prompt, or the answer from its beginning.
    public var text: String
    /// End of the part that this guardrail has passed before.
    public var passed: String.Index
    /// Whether the text is complete. If not, do not pass an end that further text could turn into a violation.
    public var isWhole: Bool

    /// For tests of a guardrail. `passed` is the beginning if it is `nil`.
    public init(_ kind: Kind, _ text: String, passed: String.Index? = nil, isWhole: Bool) {
        self.kind = kind
        self.text = text
        self.passed = passed ?? text.startIndex
        self.isWhole = isWhole
    }
}

/// The result of a review.
public enum GuardrailVerdict: Sendable, Equatable {
    /// The text may be shown up to here; the rest is reviewed again when more of it has been generated.
    case pass(upTo: String.Index)
    /// Ends the request with a guardrail's error, with this message for the user.
    case violation(String)
}

extension Guardrail {
    /// - Throws: If a prompt is refused.
    package func check(prompts: some Sequence<String>) throws(GuardrailViolation) {
        for prompt in prompts {
            if case .violation(let message) = review(GuardedText(.prompt, prompt, isWhole: true)) {
                throw GuardrailViolation(message: message)
            }
        }
    }
}
