public import Foundation

extension LanguageModelSession {
    /// The errors of the 26 SDK. Like the 27 SDK, sessions throw `LanguageModelError`, `LanguageModelSession.Error`,
    /// `SystemLanguageModel.Error` and `GeneratedContent.ParsingError` instead; code that catches this type compiles, and
    /// the compiler names the successors.
    public enum GenerationError: Swift.Error {
        /// The explanation of an error.
        public struct Context: Sendable {
            public let debugDescription: String
            /// For code that throws this type itself; sessions do not.
            public init(debugDescription: String) { self.debugDescription = debugDescription }
        }

        /// The model declined to answer.
        public struct Refusal: Sendable {
            private let explained: Explanation

            /// - Parameter transcriptEntries: The model's explanation.
            public init(transcriptEntries: [Transcript.Entry]) {
                let text = transcriptEntries.map(\.text).joined(separator: "\n")
                explained = Explanation(text: text, entries: transcriptEntries)
            }

            /// The model's explanation.
            public var explanation: Response<String> {
                get async throws { try explained.answer.response(String.self) }
            }

            /// The model's explanation, in one snapshot.
            public var explanationStream: ResponseStream<String> { explained.stream }
        }

        /// The conversation did not fit the context.
        @available(*, deprecated, message: "Use LanguageModelError.contextSizeExceeded instead.")
        case exceededContextWindowSize(Context)
        /// The model was not available.
        @available(*, deprecated, message: "Use SystemLanguageModel.Error.assetsUnavailable instead.")
        case assetsUnavailable(Context)
        /// A guardrail stopped the prompt or the answer.
        @available(*, deprecated, message: "Use LanguageModelError.guardrailViolation instead.")
        case guardrailViolation(Context)
        /// A guide could not be enforced.
        @available(*, deprecated, message: "Use LanguageModelError.unsupportedGenerationGuide instead.")
        case unsupportedGuide(Context)
        /// The model did not know the language.
        @available(*, deprecated, message: "Use LanguageModelError.unsupportedLanguageOrLocale instead.")
        case unsupportedLanguageOrLocale(Context)
        /// The answer was not a value of the requested type.
        @available(*, deprecated, message: "Use GeneratedContent.ParsingError instead.")
        case decodingFailure(Context)
        /// Too many requests were waiting.
        @available(*, deprecated, message: "Use LanguageModelError.rateLimited instead.")
        case rateLimited(Context)
        /// The session was still answering another request.
        @available(*, deprecated, message: "Use LanguageModelSession.Error.concurrentRequests instead.")
        case concurrentRequests(Context)
        /// The model declined; the first value has its words.
        @available(*, deprecated, message: "Use LanguageModelError.refusal instead.")
        case refusal(Refusal, Context)
    }
}

extension LanguageModelSession.GenerationError: LocalizedError {
    public var errorDescription: String? { successor.errorDescription }
    public var failureReason: String? { successor.failureReason }
    public var recoverySuggestion: String? { successor.recoverySuggestion }

    /// The error of the 27 SDK that says the same.
    @available(*, deprecated)
    fileprivate var named: any LocalizedError {
        switch self {
        case .exceededContextWindowSize(let context):
            LanguageModelError.contextSizeExceeded(
                .init(contextSize: 0, tokenCount: 0, debugDescription: context.debugDescription))
        case .assetsUnavailable(let context): SystemLanguageModel.Error.assetsUnavailable(context.debugDescription)
        case .guardrailViolation(let context):
            LanguageModelError.guardrailViolation(.init(debugDescription: context.debugDescription))
        case .unsupportedGuide(let context):
            LanguageModelError.unsupportedGenerationGuide(
                .init(schemaName: nil, debugDescription: context.debugDescription))
        case .unsupportedLanguageOrLocale(let context):
            LanguageModelError.unsupportedLanguageOrLocale(
                .init(languageCode: .unidentified, debugDescription: context.debugDescription))
        case .decodingFailure(let context):
            GeneratedContent.ParsingError(rawContent: "", debugDescription: context.debugDescription)
        case .rateLimited(let context):
            LanguageModelError.rateLimited(.init(resetDate: nil, debugDescription: context.debugDescription))
        case .concurrentRequests: LanguageModelSession.Error.concurrentRequests
        case .refusal(_, let context):
            LanguageModelError.refusal(.init(explanation: "", debugDescription: context.debugDescription))
        }
    }
}

/// Lets code that is not deprecated read a property that is.
private protocol Succeeded {
    var named: any LocalizedError { get }
}

extension LanguageModelSession.GenerationError: Succeeded {
    fileprivate var successor: any LocalizedError { (self as any Succeeded).named }
}
