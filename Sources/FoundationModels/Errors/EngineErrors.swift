import Constraint
import Foundation
import LocalLLM

/// Runs `body` and converts the engine's errors to those of FoundationModels.
func namingErrors<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
    do { return try await body() } catch { throw named(error) }
}

/// The error of FoundationModels for an error of the engine or of a service.
///
/// - Returns: The error itself if FoundationModels has none for it, such as `LocalModelError.invalidOption` and the
///   errors of an app's own tools and executors.
func named(_ error: any Error) -> any Error {
    switch error {
    case let error as LocalModelError: return named(error)
    case is ModelFileError, is ImageFileError: return SystemLanguageModel.Error.assetsUnavailable("\(error)")
    case let error as ConstraintError:
        return LanguageModelError.unsupportedGenerationGuide(.init(schemaName: nil, debugDescription: "\(error)"))
    case let error as ContentFormatError:
        return LanguageModelError.unsupportedGenerationGuide(
            .init(schemaName: error.field, debugDescription: "\(error)"))
    case let error as LocalLLM.GuardrailViolation:
        return LanguageModelError.guardrailViolation(.init(debugDescription: error.message))
    case let error as any ProviderError:
        switch error.problem {
        case .conversationTooLong:
            return LanguageModelError.contextSizeExceeded(
                .init(contextSize: 0, tokenCount: 0, debugDescription: "\(error)"))
        case .tooManyRequests:
            return LanguageModelError.rateLimited(.init(resetDate: nil, debugDescription: "\(error)"))
        case .tooSlow: return LanguageModelError.timeout(.init(debugDescription: "\(error)"))
        case .other: return error
        }
    default: return error
    }
}

private func named(_ error: LocalModelError) -> any Error {
    switch error {
    case .contextSizeExceeded(let contextSize, let tokenCount):
        LanguageModelError.contextSizeExceeded(
            .init(contextSize: contextSize, tokenCount: tokenCount, debugDescription: "\(error)"))
    case .queueFull: LanguageModelError.rateLimited(.init(resetDate: nil, debugDescription: "\(error)"))
    case .templateFailed, .templateStopped, .noTokenizer, .insufficientMemory, .wrongKind, .resultNotFinite, .shutDown:
        SystemLanguageModel.Error.assetsUnavailable("\(error)")
    case .constraintFailed:
        LanguageModelError.unsupportedGenerationGuide(.init(schemaName: nil, debugDescription: "\(error)"))
    case .invalidOption: error
    }
}
