public import Foundation

/// Why a model did not answer. Every case has a description for developers, and metadata of the provider.
///
/// Other errors of a session: `LanguageModelSession.Error` for misuse of the session, `SystemLanguageModel.Error` for a
/// model that is missing, `GeneratedContent.ParsingError` for an answer that is not a value of the requested type,
/// `LanguageModelSession.ToolCallError` for a tool that failed, and `CancellationError`.
public enum LanguageModelError: LocalizedError {
    /// The prompt does not fit the context or, with `ContextOverflowPolicy.fail`, the conversation does not.
    case contextSizeExceeded(ContextSizeExceeded)
    /// Too many requests wait for the model, or the service limits their rate.
    case rateLimited(RateLimited)
    /// A guardrail stopped the request. The description is the guardrail's message for the user.
    case guardrailViolation(GuardrailViolation)
    /// The model declined to answer.
    case refusal(Refusal)
    /// The request needs something that the model does not declare among its capabilities.
    case unsupportedCapability(UnsupportedCapability)
    /// The transcript has entries that the model cannot read.
    case unsupportedTranscriptContent(UnsupportedTranscriptContent)
    /// A schema or a guide that cannot be enforced; the description names it.
    case unsupportedGenerationGuide(UnsupportedGenerationGuide)
    /// The model does not support the language. Models of this machine accept any.
    case unsupportedLanguageOrLocale(UnsupportedLanguageOrLocale)
    /// The service did not answer in time.
    case timeout(Timeout)
}

extension LanguageModelError {
    /// The conversation does not fit the context.
    public struct ContextSizeExceeded: Sendable {
        /// Tokens that the model's context holds; 0 if the service does not tell.
        public var contextSize: Int
        /// Tokens that the request needed; 0 if the service does not tell.
        public var tokenCount: Int
        public var debugDescription: String
        /// Values that the throwing executor added, such as a service's error code; empty for models of this machine.
        public var metadata: [String: any Sendable]

        /// For executors, which throw it. Numbers that are not known are 0.
        public init(
            contextSize: Int, tokenCount: Int, debugDescription: String, metadata: [String: any Sendable] = [:]
        ) {
            self.contextSize = contextSize
            self.tokenCount = tokenCount
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    /// Too many requests are waiting.
    public struct RateLimited: Sendable {
        /// When requests are accepted again; `nil` if that is not known.
        public var resetDate: Date?
        public var debugDescription: String
        /// Values that the throwing executor added, such as a service's error code; empty for models of this machine.
        public var metadata: [String: any Sendable]

        /// For executors, which throw it.
        public init(resetDate: Date?, debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.resetDate = resetDate
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    /// A guardrail refused the prompt or the answer.
    public struct GuardrailViolation: Sendable {
        public var debugDescription: String
        /// Values that the throwing executor added, such as a service's error code; empty for models of this machine.
        public var metadata: [String: any Sendable]

        /// For executors. The description is shown to the user as `errorDescription`.
        public init(debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    /// The model declined to answer.
    public struct Refusal: Sendable {
        private let said: String
        public var debugDescription: String
        /// Values that the throwing executor added, such as a service's error code.
        public var metadata: [String: any Sendable]

        /// - Parameter explanation: The model's words.
        public init(explanation: String, debugDescription: String, metadata: [String: any Sendable] = [:]) {
            said = explanation
            self.debugDescription = debugDescription
            self.metadata = metadata
        }

        /// The model's explanation.
        public var explanation: LanguageModelSession.Response<String> {
            get async throws { try Explanation(text: said).answer.response(String.self) }
        }

        /// The model's explanation, in one snapshot.
        public var explanationStream: LanguageModelSession.ResponseStream<String> { Explanation(text: said).stream }
    }

    /// The model does not declare what the request needs.
    public struct UnsupportedCapability: Sendable {
        /// The capability that the model's `capabilities` lack.
        public var capability: LanguageModelCapabilities.Capability
        public var debugDescription: String
        /// Values that the throwing executor added; empty if the session refused the request before it asked the model.
        public var metadata: [String: any Sendable]

        /// For executors, which learn of a missing capability only from their service.
        public init(
            capability: LanguageModelCapabilities.Capability, debugDescription: String,
            metadata: [String: any Sendable] = [:]
        ) {
            self.capability = capability
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    /// The model cannot read these entries.
    public struct UnsupportedTranscriptContent: Sendable {
        /// The entries that cannot be read, as the transcript has them.
        public var unsupportedContent: [Transcript.Entry]
        public var debugDescription: String
        /// Values that the throwing executor added, such as a service's error code.
        public var metadata: [String: any Sendable]

        /// For executors; models of this machine do not throw it.
        public init(
            unsupportedContent: [Transcript.Entry], debugDescription: String, metadata: [String: any Sendable] = [:]
        ) {
            self.unsupportedContent = unsupportedContent
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    /// A schema or one of its guides cannot be enforced.
    public struct UnsupportedGenerationGuide: Sendable {
        /// Name of the schema that has the guide; `nil` if the schema has none.
        public var schemaName: String?
        public var debugDescription: String
        /// Values that the throwing executor added, such as a service's error code; empty for models of this machine.
        public var metadata: [String: any Sendable]

        /// For executors whose model enforces fewer guides than those of this machine.
        public init(schemaName: String?, debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.schemaName = schemaName
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    /// The model does not speak the language.
    public struct UnsupportedLanguageOrLocale: Sendable {
        /// The language of the prompt, or that the session asked for.
        public var languageCode: Locale.LanguageCode
        public var debugDescription: String
        /// Values that the throwing executor added, such as a service's error code.
        public var metadata: [String: any Sendable]

        /// For executors; models of this machine do not throw it.
        public init(
            languageCode: Locale.LanguageCode, debugDescription: String, metadata: [String: any Sendable] = [:]
        ) {
            self.languageCode = languageCode
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }

    /// The answer did not come in time.
    public struct Timeout: Sendable {
        public var debugDescription: String
        /// Values that the throwing executor added, such as a service's error code.
        public var metadata: [String: any Sendable]

        /// For executors; models of this machine have no time limit.
        public init(debugDescription: String, metadata: [String: any Sendable] = [:]) {
            self.debugDescription = debugDescription
            self.metadata = metadata
        }
    }
}

extension LanguageModelError: CustomDebugStringConvertible {
    public var debugDescription: String {
        switch self {
        case .contextSizeExceeded(let details): details.debugDescription
        case .rateLimited(let details): details.debugDescription
        case .guardrailViolation(let details): details.debugDescription
        case .refusal(let details): details.debugDescription
        case .unsupportedCapability(let details): details.debugDescription
        case .unsupportedTranscriptContent(let details): details.debugDescription
        case .unsupportedGenerationGuide(let details): details.debugDescription
        case .unsupportedLanguageOrLocale(let details): details.debugDescription
        case .timeout(let details): details.debugDescription
        }
    }
}

extension LanguageModelError {
    public var errorDescription: String? {
        switch self {
        case .contextSizeExceeded: "The input exceeds the language model's context."
        case .rateLimited: "The language model is busy."
        case .guardrailViolation(let details): details.debugDescription
        case .refusal: "The language model declined to answer."
        case .unsupportedCapability: "The language model cannot do this."
        case .unsupportedTranscriptContent: "The language model cannot read this conversation."
        case .unsupportedGenerationGuide: "The language model cannot follow this guide."
        case .unsupportedLanguageOrLocale: "The language model does not support this language."
        case .timeout: "The language model did not answer in time."
        }
    }

    public var failureReason: String? { debugDescription }

    public var recoverySuggestion: String? {
        switch self {
        case .contextSizeExceeded: "Ask with a shorter text, or begin a new conversation."
        case .rateLimited, .timeout: "Try again in a moment."
        case .guardrailViolation: "Ask for something else."
        case .refusal: "Ask for something else, or in other words."
        case .unsupportedCapability: "Use a model that declares this capability."
        case .unsupportedTranscriptContent: "Use a model that can read it, or leave it out."
        case .unsupportedGenerationGuide: "Use a simpler guide."
        case .unsupportedLanguageOrLocale: "Ask in another language."
        }
    }
}
