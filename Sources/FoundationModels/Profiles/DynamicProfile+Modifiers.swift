/// Modifiers of profiles. `nil` values leave the decision to the next level.
extension LanguageModelSession.DynamicProfile {
    /// Sets the model.
    public func model(_ model: any LanguageModel) -> some LanguageModelSession.DynamicProfile {
        setting(\.model, model)
    }

    /// Sets the model.
    public func model(_ model: some LanguageModel) -> some LanguageModelSession.DynamicProfile {
        setting(\.model, model)
    }

    /// Sets the temperature, 0...2: below 1 it sharpens the distribution of tokens, above 1 it flattens it.
    public func temperature(_ temperature: Double?) -> some LanguageModelSession.DynamicProfile {
        setting(\.options.temperature, temperature)
    }

    /// Sets which tokens are sampled, and with which seed.
    public func samplingMode(
        _ samplingMode: GenerationOptions.SamplingMode?
    ) -> some LanguageModelSession.DynamicProfile {
        setting(\.options.samplingMode, samplingMode)
    }

    /// Sets the most tokens of one message; longer ones are cut off.
    public func maximumResponseTokens(_ maximumResponseTokens: Int?) -> some LanguageModelSession.DynamicProfile {
        setting(\.options.maximumResponseTokens, maximumResponseTokens)
    }

    /// Sets how much the model thinks. A model without reasoning refuses requests with a level.
    public func reasoningLevel(
        _ reasoningLevel: ContextOptions.ReasoningLevel?
    ) -> some LanguageModelSession.DynamicProfile {
        setting(\.reasoningLevel, reasoningLevel)
    }

    /// Sets whether messages may, must or must not call tools.
    public func toolCallingMode(
        _ toolCallingMode: GenerationOptions.ToolCallingMode?
    ) -> some LanguageModelSession.DynamicProfile {
        setting(\.options.toolCallingMode, toolCallingMode)
    }

    /// What happens to the transcript when a request fails.
    public func transcriptErrorHandlingPolicy(
        _ transcriptErrorHandlingPolicy: TranscriptErrorHandlingPolicy?
    ) -> some LanguageModelSession.DynamicProfile {
        setting(\.errorHandling, transcriptErrorHandlingPolicy)
    }

    private func setting<Value>(
        _ path: WritableKeyPath<ResolvedProfile, Value?>, _ value: Value?
    ) -> ConfiguredProfile<Self> {
        ConfiguredProfile(content: self) { $0[keyPath: path] = $0[keyPath: path] ?? value }
    }

    /// Changes what the model reads of the history. The transcript stays as it is.
    public func historyTransform(
        _ transform: @escaping ([Transcript.Entry]) -> [Transcript.Entry]
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.transforms, transform)
    }

    fileprivate func adding<Element>(
        _ path: WritableKeyPath<ResolvedProfile, [Element]>, _ element: Element
    ) -> ConfiguredProfile<Self> {
        ConfiguredProfile(content: self, isFirst: true) { $0[keyPath: path].append(element) }
    }
}

/// Callbacks. An error that one throws ends the request, and reaches the caller of `respond`.
extension LanguageModelSession.DynamicProfile {
    /// After the prompt was added to the transcript, before the model reads it.
    public func onPrompt(
        @_inheritActorContext perform action: sending @escaping () async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onPrompt) { _ in try await action() }
    }

    /// After the prompt was added to the transcript, before the model reads it.
    public func onPrompt(
        @_inheritActorContext perform action: sending @escaping (Transcript.Prompt) async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onPrompt, action)
    }

    /// After a response of the model was added to the transcript.
    public func onResponse(
        @_inheritActorContext perform action: sending @escaping () async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onResponse) { _ in try await action() }
    }

    /// After a response of the model was added to the transcript.
    public func onResponse(
        @_inheritActorContext perform action: sending @escaping (Transcript.Response) async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onResponse, action)
    }

    /// After reasoning of the model was added to the transcript.
    public func onReasoning(
        @_inheritActorContext perform action: sending @escaping () async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onReasoning) { _ in try await action() }
    }

    /// After reasoning of the model was added to the transcript.
    public func onReasoning(
        @_inheritActorContext perform action: sending @escaping (Transcript.Reasoning) async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onReasoning, action)
    }

    /// For each call, before the tool runs.
    public func onToolCall(
        @_inheritActorContext perform action: sending @escaping () async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onToolCall) { _ in try await action() }
    }

    /// For each call, before the tool runs.
    public func onToolCall(
        @_inheritActorContext perform action: sending @escaping (Transcript.ToolCall) async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onToolCall, action)
    }

    /// After the output of a tool was added to the transcript.
    public func onToolOutput(
        @_inheritActorContext perform action: sending @escaping () async throws -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onToolOutput) { _, _ in try await action() }
    }

    /// After the output of a tool was added to the transcript.
    public func onToolOutput(
        @_inheritActorContext perform action:
            sending @escaping (Transcript.ToolCall, Transcript.ToolOutput) async throws
            -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onToolOutput, action)
    }

    /// When the profile becomes the active one, before the request's prompt is added.
    public func onActivate(
        @_inheritActorContext perform action: sending @escaping @isolated(any) () async -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onActivate, action)
    }

    /// When another profile becomes the active one.
    public func onDeactivate(
        @_inheritActorContext perform action: sending @escaping @isolated(any) () async -> Void
    ) -> some LanguageModelSession.DynamicProfile {
        adding(\.callbacks.onDeactivate, action)
    }
}

// MARK: Modifiers of others

extension LanguageModelSession {
    /// A reusable change of a profile.
    public protocol DynamicProfileModifier {
        /// The type of the changed profile; inferred.
        associatedtype Body: DynamicProfile
        /// The changed profile. Evaluated together with the profile's own body, before each request to the model.
        @DynamicProfileBuilder func body(content: Content) -> Body
        /// The profile that is changed; a body uses it as a line.
        typealias Content = DynamicProfileModifierContent<Self>
    }

    /// The profile that a modifier changes.
    public struct DynamicProfileModifierContent<Modifier: DynamicProfileModifier>: DynamicProfile {
        public typealias Body = Never
        fileprivate let profile: any DynamicProfile
        public var body: Never { none }
    }

    /// A profile with the change of a modifier.
    public struct ModifiedDynamicProfile<Content: DynamicProfile, Modifier: DynamicProfileModifier>: DynamicProfile {
        public typealias Body = Never
        fileprivate let content: Content
        fileprivate let modifier: Modifier
        public var body: Never { none }
    }
}

extension LanguageModelSession.DynamicProfileModifier {
    /// The name by which a modifier's body declares its type: `some DynamicProfile`.
    public typealias DynamicProfile = LanguageModelSession.DynamicProfile
}

extension LanguageModelSession.DynamicProfile {
    /// Applies a modifier.
    public func modifier<Modifier: LanguageModelSession.DynamicProfileModifier>(
        _ modifier: Modifier
    ) -> some LanguageModelSession.DynamicProfile {
        LanguageModelSession.ModifiedDynamicProfile(content: self, modifier: modifier)
    }
}

extension LanguageModelSession.DynamicProfileModifierContent: PrimitiveProfile {
    func resolve(into resolved: inout ResolvedProfile) { profile.add(to: &resolved) }
}

extension LanguageModelSession.ModifiedDynamicProfile: PrimitiveProfile {
    func resolve(into resolved: inout ResolvedProfile) {
        modifier.body(content: .init(profile: content)).add(to: &resolved)
    }
}
