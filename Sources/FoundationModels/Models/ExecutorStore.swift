import Synchronization

/// The executors of a session: one for each configuration of its models.
final class ExecutorStore: Sendable {
    /// A configuration, and the type of the executor that it makes.
    private struct Key: Hashable, @unchecked Sendable {
        let type: ObjectIdentifier
        /// `Sendable`, as configurations are.
        let configuration: AnyHashable
    }

    private let executors = Mutex<[Key: any LanguageModelExecutor]>([:])

    /// The executor for a model, which is made for the first model of its configuration.
    func executor<Model: LanguageModel>(for model: Model) throws -> Model.Executor {
        let configuration = model.executorConfiguration
        let key = Key(type: ObjectIdentifier(Model.Executor.self), configuration: configuration)
        // Made under the lock, so that there is never a second one.
        return try executors.withLock { executors in
            if let known = executors[key] as? Model.Executor { return known }
            let made = try Model.Executor(configuration: configuration)
            executors[key] = made
            return made
        }
    }

    /// Asks a model for a message.
    ///
    /// - Parameter show: Called whenever the message grows.
    func message<Model: LanguageModel>(
        of model: Model, to request: LanguageModelExecutorGenerationRequest,
        _ show: @Sendable (GeneratedMessage) -> Void
    ) async throws -> GeneratedMessage {
        let executor = try executor(for: model)
        let channel = LanguageModelExecutorGenerationChannel()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await executor.respond(to: request, model: model, streamingInto: channel)
                    channel.finish()
                } catch {
                    channel.finish(throwing: error)
                }
            }
            var message = GeneratedMessage()
            for try await event in channel {
                message.apply(event)
                show(message)
            }
            // A cancelled task's stream ends like a complete one.
            try Task.checkCancellation()
            return message
        }
    }
}

extension LanguageModelCapabilities {
    /// - Throws: `LanguageModelError.unsupportedCapability` if a request needs what the model cannot do.
    func check(_ request: LanguageModelExecutorGenerationRequest) throws {
        var needed: [(Capability, String)] = []
        if !request.enabledToolDefinitions.isEmpty { needed.append((.toolCalling, "call tools")) }
        if request.schema != nil { needed.append((.guidedGeneration, "answer with values of a schema")) }
        if request.contextOptions.reasoningLevel != nil { needed.append((.reasoning, "reason at a given level")) }
        if request.transcript.contains(where: { $0.segments.contains { $0.image != nil } }) {
            needed.append((.vision, "read images"))
        }
        guard let missing = needed.first(where: { !contains($0.0) }) else { return }
        throw LanguageModelError.unsupportedCapability(
            .init(capability: missing.0, debugDescription: "The model cannot \(missing.1)."))
    }
}
