public import FoundationModels

/// The local engine.
public protocol LocalLLMServiceProtocol: ChatServiceProtocol {
    /// Whether the engine can answer, possibly after loading its model. Observable; changes while the app runs.
    var availability: SystemLanguageModel.Availability { get }
    /// Availability as text for the user, with details.
    var statusMessage: String { get }
    /// Starts loading the model, so that the first answer begins sooner. Returns immediately.
    func prewarm()
    /// Returns once the model is loaded; throws if loading fails.
    func load() async throws
    /// Drops the conversation's session.
    func resetSession()
}

extension LocalLLMServiceProtocol {
    public var statusMessage: String { availability.statusMessage }
    public func load() async throws {}
}

/// The service for a model, or the fallback if the device has too little memory for it, which does not change while the
/// app runs.
///
/// - Parameter instructions: System message of each conversation.
public func localLLMService(
    model: SystemLanguageModel = .default, instructions: String? = nil, options: GenerationOptions = .init()
) -> any LocalLLMServiceProtocol {
    guard case .unavailable(.deviceNotEligible) = model.availability else {
        return LocalLLMService(model: model, instructions: instructions, options: options)
    }
    return FallbackLLMService(reason: model.status.statusMessage)
}
