import Constraint
public import Foundation

extension LanguageModelSession {
    /// Why there is no answer.
    ///
    /// Mistakes of the app that FoundationModels has no case for, such as a temperature below zero, are thrown as they are:
    /// `LocalModelError.invalidOption`. A cancelled request throws `CancellationError`.
    public enum GenerationError: Swift.Error, Sendable {
        /// What happened, with the numbers, names and paths.
        public struct Context: Sendable {
            public let debugDescription: String
            /// Tokens that the model's context has, and that it would have taken: of `exceededContextWindowSize`, else `nil`.
            public let contextSize, tokenCount: Int?

            public init(debugDescription: String) { self.init(debugDescription, contextSize: nil, tokenCount: nil) }

            init(_ debugDescription: String, contextSize: Int?, tokenCount: Int?) {
                self.debugDescription = debugDescription
                self.contextSize = contextSize
                self.tokenCount = tokenCount
            }
        }

        /// The model declined to answer. No model here is known to; the case is there for code that handles it.
        public struct Refusal: Sendable {
            private let entries: [Transcript.Entry]

            /// - Parameter transcriptEntries: What the model said instead of an answer.
            public init(transcriptEntries: [Transcript.Entry]) { entries = transcriptEntries }

            /// What the model said.
            public var explanation: Response<String> { get async throws { said } }

            /// What the model said, in one snapshot.
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

        /// The conversation does not fit the context: the prompt alone, or with `ContextOverflowPolicy.throwError` all of it.
        case exceededContextWindowSize(Context)
        /// The model is not there, is switched off, cannot be read, or needs more memory than there is.
        case assetsUnavailable(Context)
        /// A guardrail stopped the request. Here the description is the guardrail's message for the user.
        case guardrailViolation(Context)
        /// A schema or a guide asks for what cannot be enforced; the description names it.
        case unsupportedGuide(Context)
        /// Not thrown: models here take any language, well or badly.
        case unsupportedLanguageOrLocale(Context)
        /// The answer is no value of the type: it was cut off by `maximumResponseTokens`, or the app's own type refuses it.
        case decodingFailure(Context)
        /// Too many requests wait for the model.
        case rateLimited(Context)
        /// The session is answering another request.
        case concurrentRequests(Context)
        /// Not thrown, see `Refusal`.
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

    /// The name that the 27 SDK has for mistakes in the use of a session.
    public typealias Error = GenerationError
}

extension SystemLanguageModel {
    /// The name that the 27 SDK has for a model that is not available.
    public typealias Error = LanguageModelSession.GenerationError
}

/// The name that the 27 SDK has for what goes wrong with a request.
public typealias LanguageModelError = LanguageModelSession.GenerationError

extension LanguageModelSession.GenerationError: LocalizedError {
    public var errorDescription: String? {
        switch self {
        case .exceededContextWindowSize: "This is more than the language model can read at once."
        case .assetsUnavailable: "The language model is not available."
        case .guardrailViolation(let context): context.debugDescription
        case .unsupportedGuide: "The language model cannot follow this guide."
        case .unsupportedLanguageOrLocale: "The language model does not speak this language."
        case .decodingFailure: "The language model's answer could not be read."
        case .rateLimited: "The language model has too much to do."
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
    /// What an error of the engine is called here; `nil` for one that has no name here.
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
            case .templateFailed, .noTokenizer, .insufficientMemory, .wrongKind, .resultNotFinite, .shutDown:
                self = .assetsUnavailable(context)
            case .constraintFailed: self = .unsupportedGuide(context)
            case .invalidOption: return nil
            }
        case let error as ImageFileError: self = .assetsUnavailable(Context(debugDescription: error.description))
        case is ConstraintError, is ToolSchemaError: self = .unsupportedGuide(context)
        default: return nil
        }
    }

    /// Runs `body`, and calls its errors what they are called here.
    static func naming<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            throw Self(error) ?? error
        }
    }
}
