public import LocalLLM

extension SystemLanguageModel {
    /// The guardrails of a model's sessions. By default there are none.
    public struct Guardrails: Sendable {
        let guardrails: [any Guardrail]

        /// - Parameter guardrails: A text passes only if all of them pass it.
        public init(_ guardrails: [any Guardrail]) { self.guardrails = guardrails }

        /// No guardrail: all texts pass.
        public static let `default` = Self([])
        /// The same as `default`, which permits everything.
        public static let permissiveContentTransformations = Self([])
    }
}

extension SystemLanguageModel.Guardrails: Guardrail {
    /// A text passes as far as all of them pass it.
    public func review(_ text: GuardedText) -> GuardrailVerdict {
        var end = text.text.endIndex
        for guardrail in guardrails {
            switch guardrail.review(text) {
            case .pass(let upTo): end = min(end, upTo)
            case .violation(let message): return .violation(message)
            }
        }
        return .pass(upTo: end)
    }
}
