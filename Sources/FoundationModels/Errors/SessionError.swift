public import Foundation

extension LanguageModelSession {
    /// A session was used in a way that it does not allow.
    public enum Error: LocalizedError, Hashable {
        /// The session is answering another request.
        case concurrentRequests
        /// The transcript was changed while the session answered, or the history by a tool or by instructions. The change
        /// was dropped.
        case transcriptMutationWhileResponding
    }
}

extension LanguageModelSession.Error: CustomDebugStringConvertible {
    public var debugDescription: String {
        switch self {
        case .concurrentRequests: "A session answers one request at a time; wait until isResponding is false."
        case .transcriptMutationWhileResponding:
            "The transcript of a session can change only while isResponding is false, and the history only in lifecycle "
                + "modifiers of profiles."
        }
    }
}

extension LanguageModelSession.Error {
    public var errorDescription: String? {
        switch self {
        case .concurrentRequests: "The language model is still answering."
        case .transcriptMutationWhileResponding: "The conversation was changed while the language model was answering."
        }
    }

    public var failureReason: String? { debugDescription }
}

extension SystemLanguageModel {
    /// The model cannot be used.
    public enum Error: LocalizedError {
        /// The model is missing, disabled, unreadable, or needs more memory than is available.
        case assetsUnavailable(AssetsUnavailable)
    }
}

extension SystemLanguageModel.Error {
    /// The model's file is missing, unusable or was unloaded.
    public struct AssetsUnavailable: Sendable {
        public var debugDescription: String
        /// For tests of an app's handling of the error.
        public init(debugDescription: String) { self.debugDescription = debugDescription }
    }

    static func assetsUnavailable(_ description: String) -> Self {
        .assetsUnavailable(AssetsUnavailable(debugDescription: description))
    }
}

extension SystemLanguageModel.Error: CustomDebugStringConvertible {
    public var debugDescription: String {
        switch self {
        case .assetsUnavailable(let details): details.debugDescription
        }
    }
}

extension SystemLanguageModel.Error {
    public var errorDescription: String? { "The language model is not available." }
    public var failureReason: String? { debugDescription }
    public var recoverySuggestion: String? {
        "Look at the model's availability, and try again when it is available."
    }
}
