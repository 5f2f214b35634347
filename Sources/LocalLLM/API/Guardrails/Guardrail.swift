/// Looks at what the model is asked and at what it answers, and can stop it.
///
/// Each prompt is reviewed before the model sees it, each answer again and again as it grows. Text is delivered only when
/// all guardrails have let it pass. Instructions, which the app's own author writes, and earlier turns are not reviewed.
public protocol Guardrail: Sendable {
    /// Judges a text as far as it is known. Called from any thread.
    func review(_ text: GuardedText) -> GuardrailVerdict
}

/// A text to be judged.
public struct GuardedText: Sendable {
    public enum Kind: Sendable { case prompt, answer }

    public var kind: Kind
    /// The whole prompt, or the answer from its beginning.
    public var text: String
    /// Up to where this guardrail let it pass before.
    public var passed: String.Index
    /// Whether nothing follows. Before that, hold back what could become a violation with what is still to come.
    public var isWhole: Bool

    public init(_ kind: Kind, _ text: String, passed: String.Index? = nil, isWhole: Bool) {
        self.kind = kind
        self.text = text
        self.passed = passed ?? text.startIndex
        self.isWhole = isWhole
    }
}

/// What a guardrail finds.
public enum GuardrailVerdict: Sendable, Equatable {
    /// The text may be shown up to here; what follows is looked at again when more of it is known.
    case pass(upTo: String.Index)
    /// Ends the request with `GenerationError.guardrailViolation`. The message is for the user.
    case violation(String)
}

extension SystemLanguageModel {
    /// The guardrails of a model's sessions. None is on unless an app gives some.
    public struct Guardrails: Sendable {
        let guardrails: [any Guardrail]

        /// - Parameter guardrails: All of them must let a text pass.
        public init(_ guardrails: [any Guardrail]) { self.guardrails = guardrails }

        public static let `default` = Self([])
        /// The same as `default`, which permits everything.
        public static let permissiveContentTransformations = Self([])
    }
}

extension SystemLanguageModel.Guardrails {
    /// Lets a prompt pass, or throws.
    func check(prompt: String) throws(LanguageModelSession.GenerationError) {
        for guardrail in guardrails {
            if case .violation(let message) = guardrail.review(GuardedText(.prompt, prompt, isWhole: true)) {
                throw .guardrailViolation(.init(debugDescription: message))
            }
        }
    }

    /// How much of an answer may be shown, in bytes of UTF-8.
    ///
    /// - Parameter passed: What this gave for the answer when it was shorter.
    func check(
        answer: String, passed: Int, isWhole: Bool
    ) throws(LanguageModelSession.GenerationError) -> Int {
        var end = answer.utf8.count
        for guardrail in guardrails {
            let passedIndex = answer.utf8.index(answer.startIndex, offsetBy: passed)
            switch guardrail.review(GuardedText(.answer, answer, passed: passedIndex, isWhole: isWhole)) {
            case .pass(let upTo): end = min(end, answer.utf8.distance(from: answer.startIndex, to: upTo))
            case .violation(let message): throw .guardrailViolation(.init(debugDescription: message))
            }
        }
        return isWhole ? answer.utf8.count : max(passed, end)
    }
}
