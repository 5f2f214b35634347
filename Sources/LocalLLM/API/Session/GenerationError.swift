import Constraint
public import Foundation

extension LanguageModelSession {
    /// Why a request was not answered.
    ///
    /// Invalid arguments for which FoundationModels has no case, such as a temperature below zero, are thrown as
    /// `LocalModelError.invalidOption`. A cancelled request throws `CancellationError`.
    public enum GenerationError: Swift.Error, Sendable {
        /// Details: numbers, names and paths.
        public struct Context: Sendable {
            public let debugDescription: String
            /// The context size, and the tokens that the request needed; only for `exceededContextWindowSize`.
            public let contextSize, tokenCount: Int?

            public init(debugDescription: String) { self.init(debugDescription, contextSize: nil, tokenCount: nil) }

            init(_ debugDescription: String, contextSize: Int?, tokenCount: Int?) {
                self.debugDescription = debugDescription
                self.contextSize = contextSize
                self.tokenCount = tokenCount
            }
        }

        /// The model declined to answer. Never thrown here; the case exists for code that handles it.
        public struct Refusal: Sendable {
            private let entries: [Transcript.Entry]

            /// - Parameter transcriptEntries: The model's explanation.
            public init(transcriptEntries: [Transcript.Entry]) { entries = transcriptEntries }

            /// The model's explanation.
            public var explanation: Response<String> { get async throws { said } }

            /// The model's explanation, in one snapshot.
            public var explanationStream: ResponseStream<String> {
                ResponseStream { [said] show in
                    show(.init(content: said.rawContent))
                    return Answer(content: said.rawContent, entries: said.transcriptEntries, usage: said.usage)
                }
            }

            private var said: Response<String> {
                let text = entries.map(\.text).joined(separator: "\n")
                return Response(content: text, rawContent: GeneratedContent(text), transcriptEntries: entries[...])
            }
        }

        /// The prompt does not fit the context or, with `ContextOverflowPolicy.throwError`, the conversation does not.
        case exceededContextWindowSize(Context)
        /// The model is missing, disabled, unreadable, or needs more memory than is available.
        case assetsUnavailable(Context)
        /// A guardrail stopped the request. The description is the guardrail's message for the user.
        case guardrailViolation(Context)
        /// A schema or a guide that cannot be enforced; the description names it.
        case unsupportedGuide(Context)
        /// Never thrown: models here accept any language.
        case unsupportedLanguageOrLocale(Context)
        /// The answer is not a value of the type: `maximumResponseTokens` cut it off, or the app's type rejected it.
        case decodingFailure(Context)
        /// Too many requests wait for the model.
        case rateLimited(Context)
        /// The session is answering another request.
        case concurrentRequests(Context)
        /// Never thrown, see `Refusal`.
        case refusal(Refusal, Context)

        var context: Context {
            switch self {
            case .exceededContextWindowSize(let context), .assetsUnavailable(let context),
                .guardrailViolation(let context), .unsupportedGuide(let context),
                .unsupportedLanguageOrLocale(let context), .decodingFailure(let context), .rateLimited(let context),
                .concurrentRequests(let context), .refusal(_, let context):
                context
            }
        }
    }

    /// The 27 SDK's name for errors in the use of a session.
    public typealias Error = GenerationError
}

extension SystemLanguageModel {
    /// The 27 SDK's name for the error of an unavailable model.
    public typealias Error = LanguageModelSession.GenerationError
}

/// The 27 SDK's name for the error of a failed request.
public typealias LanguageModelError = LanguageModelSession.GenerationError

extension LanguageModelSession.GenerationError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .exceededContextWindowSize: "The input exceeds the language model's context."
        case .assetsUnavailable: "The language model is not available."
        case .guardrailViolation(let context): context.debugDescription
        case .unsupportedGuide: "The language model cannot follow this guide."
        case .unsupportedLanguageOrLocale: "The language model does not support this language."
        case .decodingFailure: "The language model's answer could not be read."
        case .rateLimited: "The language model is busy."
        case .concurrentRequests: "The language model is still answering."
        case .refusal: "The language model declined to answer."
        }
    }

    public var failureReason: String? { context.debugDescription }

    public var recoverySuggestion: String? {
        switch self {
        case .exceededContextWindowSize: "Ask with a shorter text, or begin a new conversation."
        case .assetsUnavailable: "Look at the model's availability, and try again when it is available."
        case .guardrailViolation: "Ask for something else."
        case .unsupportedGuide: "Use a simpler guide."
        case .unsupportedLanguageOrLocale: "Ask in another language."
        case .decodingFailure: "Try again."
        case .rateLimited: "Try again in a moment."
        case .concurrentRequests: "Wait for the answer, or stop it."
        case .refusal: "Ask for something else, or in other words."
        }
    }
}

extension LanguageModelSession.GenerationError: CustomStringConvertible {
    public var description: String { "\(errorDescription ?? "") \(context.debugDescription)" }
}

extension LanguageModelSession.GenerationError {
    /// Converts an error of the engine; `nil` if no case here matches.
    init?(_ error: any Swift.Error) {
        let context = Context(debugDescription: "\(error)")
        switch error {
        case let error as Self: self = error
        case is ModelFileError: self = .assetsUnavailable(context)
        case let error as LocalModelError:
            switch error {
            case .contextSizeExceeded(let contextSize, let tokenCount):
                self = .exceededContextWindowSize(Context("\(error)", contextSize: contextSize, tokenCount: tokenCount))
            case .queueFull: self = .rateLimited(context)
            case .templateFailed, .templateStopped, .noTokenizer, .insufficientMemory, .wrongKind, .resultNotFinite,
                .shutDown:
                self = .assetsUnavailable(context)
            case .constraintFailed: self = .unsupportedGuide(context)
            case .invalidOption: return nil
            }
        case let error as ImageFileError: self = .assetsUnavailable(Context(debugDescription: error.description))
        case is ConstraintError, is ContentFormatError: self = .unsupportedGuide(context)
        case let error as GuardrailViolation: self = .guardrailViolation(Context(debugDescription: error.message))
        default: return nil
        }
    }

    /// Runs `body` and converts the engine's errors to `GenerationError`.
    static func naming<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            throw Self(error) ?? error
        }
    }
}
