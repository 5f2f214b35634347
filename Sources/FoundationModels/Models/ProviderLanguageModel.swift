public import LocalLLM

/// A `Provider` as a model for sessions and profiles: a service of the module Client, a model with a fallback, or an
/// app's own.
public struct ProviderLanguageModel: LanguageModel {
    public let capabilities: LanguageModelCapabilities
    public let executorConfiguration: Executor.Configuration

    /// - Parameters:
    ///   - name: Equal names of one session share an executor. Providers with different answers need different names.
    ///   - capabilities: What the provider's model can do.
    ///   - guardrails: Review prompts before they leave the process, and answers.
    public init(
        _ provider: any Provider, name: String,
        capabilities: LanguageModelCapabilities = .init([.guidedGeneration, .reasoning, .toolCalling, .vision]),
        guardrails: SystemLanguageModel.Guardrails = .default
    ) {
        self.capabilities = capabilities
        executorConfiguration = .init(name: name, provider: provider, guardrails: guardrails)
    }

    /// Asks the provider.
    public struct Executor: LanguageModelExecutor {
        /// Compared by the name.
        public struct Configuration: Hashable, Sendable {
            let name: String
            let provider: any Provider
            let guardrails: SystemLanguageModel.Guardrails

            public static func == (one: Self, other: Self) -> Bool { one.name == other.name }
            public func hash(into hasher: inout Hasher) { hasher.combine(name) }
        }

        private let configuration: Configuration

        public init(configuration: Configuration) { self.configuration = configuration }

        public func respond(
            to request: LanguageModelExecutorGenerationRequest, model: ProviderLanguageModel,
            streamingInto channel: LanguageModelExecutorGenerationChannel
        ) async throws {
            let execution = ProviderExecution(
                provider: configuration.provider, guardrails: configuration.guardrails)
            try await execution.respond(to: request, into: channel)
        }
    }
}
