public import LocalLLM

/// The engine of this device.
public protocol LocalLLMServiceProtocol: ChatServiceProtocol {
    /// Whether it answers when it is asked, if only after its model was loaded. Can be observed, and changes while the app runs.
    var availability: SystemLanguageModel.Availability { get }
    /// The same in words for a user, with what is known of the reasons.
    var statusMessage: String { get }
    /// Loads the model, so that the first word of an answer comes sooner. Returns at once.
    func prewarm()
    /// Returns once the model is in memory, or throws why it cannot be.
    func load() async throws
    /// Forgets the conversation.
    func resetSession()
}

extension LocalLLMServiceProtocol {
    public var statusMessage: String { availability.statusMessage }
    public func load() async throws {}
}

/// The service for a model: the fallback where the device has too little memory for it, which does not change while the app runs.
///
/// - Parameter instructions: What the model is told before each conversation.
public func localLLMService(
    model: SystemLanguageModel = .default, instructions: String? = nil, options: GenerationOptions = .init()
) -> any LocalLLMServiceProtocol {
    guard case .unavailable(.deviceNotEligible) = model.availability else {
        return LocalLLMService(model: model, instructions: instructions, options: options)
    }
    return FallbackLLMService(reason: model.status.statusMessage)
}
