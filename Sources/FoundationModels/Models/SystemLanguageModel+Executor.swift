import LocalLLM

extension SystemLanguageModel: LanguageModel {
    /// Calling tools and values of types, which every model of this machine can; images with an image encoder; reasoning
    /// if its chat template has reasoning.
    public var capabilities: LanguageModelCapabilities { host.capabilities }

    public var executorConfiguration: Executor.Configuration { .init(model: self) }

    /// Runs the model of this machine for executors of others, which ask it for messages. Sessions ask the model
    /// itself, and count its tokens.
    public struct Executor: LanguageModelExecutor {
        /// Compared by the model that is in memory, and what its sessions add to it.
        public struct Configuration: Hashable, Sendable {
            let model: SystemLanguageModel

            public static func == (one: Self, other: Self) -> Bool {
                one.model.host === other.model.host && one.model.useCase == other.model.useCase
            }

            public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(model.host)) }
        }

        public init(configuration: Configuration) {}

        /// Loads the model and prefills the transcript.
        public func prewarm(model: SystemLanguageModel, transcript: Transcript) {
            Task.detached {
                guard let local = try? await model.host.model(),
                    let tokens = try? ConversationWindow(transcript, for: model.useCase).beginning(for: local)
                else { return }
                for try await _ in local.generate(tokens: tokens, options: .init(maximumTokens: 1)) {}
            }
        }

        public func respond(
            to request: LanguageModelExecutorGenerationRequest, model: SystemLanguageModel,
            streamingInto channel: LanguageModelExecutorGenerationChannel
        ) async throws {
            let execution = ProviderExecution(
                provider: model, useCase: model.useCase, guardrails: model.guardrails)
            try await execution.respond(to: request, into: channel)
        }
    }
}
