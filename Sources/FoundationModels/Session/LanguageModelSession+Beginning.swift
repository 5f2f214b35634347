public import LocalLLM

// Each way to begin a session exists for the model of this machine, which is also the default, and for others.

extension LanguageModelSession {
    /// Begins a conversation.
    ///
    /// - Parameters:
    ///   - tools: Tools that the model may call while it answers.
    ///   - instructions: The system instructions.
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [], instructions: Instructions? = nil
    ) {
        self.init(.fixed(model, tools), .beginning(tools, instructions))
    }

    /// Begins a conversation.
    @_disfavoredOverload
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [], instructions: String? = nil
    ) {
        self.init(model: model, tools: tools, instructions: instructions.map { Instructions($0) })
    }

    /// Begins a conversation.
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [],
        @InstructionsBuilder instructions: () throws -> Instructions
    ) rethrows {
        self.init(model: model, tools: tools, instructions: try instructions())
    }

    /// Resumes a conversation.
    ///
    /// - Parameter tools: Tools that the model may call from now on, regardless of those that the transcript's
    ///   instructions list.
    public convenience init(model: SystemLanguageModel = .default, tools: [any Tool] = [], transcript: Transcript) {
        self.init(.fixed(model, tools), transcript)
    }

    /// Begins a conversation with any model.
    public convenience init(model: some LanguageModel, tools: [any Tool] = [], instructions: Instructions? = nil) {
        self.init(.fixed(model, tools), .beginning(tools, instructions))
    }

    /// Begins a conversation with any model.
    @_disfavoredOverload
    public convenience init(model: some LanguageModel, tools: [any Tool] = [], instructions: String? = nil) {
        self.init(model: model, tools: tools, instructions: instructions.map { Instructions($0) })
    }

    /// Begins a conversation with any model.
    public convenience init<Failure: Swift.Error>(
        model: some LanguageModel, tools: [any Tool] = [],
        @InstructionsBuilder instructions: () throws(Failure) -> Instructions
    ) throws(Failure) {
        self.init(model: model, tools: tools, instructions: try instructions())
    }

    /// Resumes a conversation with any model.
    public convenience init(model: some LanguageModel, tools: [any Tool] = [], transcript: Transcript) {
        self.init(.fixed(model, tools), transcript)
    }

    /// Begins a conversation whose instructions and tools depend on the app's state.
    ///
    /// - Parameter history: What was said before, without instructions.
    public convenience init(
        model: some LanguageModel = SystemLanguageModel.default, dynamicInstructions: sending some DynamicInstructions,
        history: some Collection<Transcript.Entry> = []
    ) {
        let profile = Profile { dynamicInstructions }.model(model)
        self.init(.dynamic(profile), Transcript(entries: history))
    }

    /// Begins a conversation whose model and options depend on the app's state as well.
    ///
    /// - Parameter history: What was said before, without instructions.
    public convenience init(
        profile: sending some DynamicProfile, history: some Collection<Transcript.Entry> = []
    ) {
        self.init(.dynamic(profile), Transcript(entries: history))
    }

    /// Begins or resumes a conversation with a provider, such as a service or a model with a fallback.
    ///
    /// - Parameters:
    ///   - tools: Tools that the provider's model may call. They run in this process.
    ///   - guardrails: Review prompts before they leave the process, and answers.
    public convenience init(
        provider: any Provider, tools: [any Tool] = [], transcript: Transcript = Transcript(),
        guardrails: SystemLanguageModel.Guardrails = .default
    ) {
        let model = ProviderLanguageModel(provider, name: "provider", guardrails: guardrails)
        self.init(.fixed(model, tools), transcript)
    }

    /// Begins a conversation with a provider, such as a service or a model with a fallback.
    public convenience init(provider: any Provider, tools: [any Tool] = [], instructions: String) {
        self.init(provider: provider, tools: tools, transcript: .beginning(tools, Instructions(instructions)))
    }
}

extension Transcript {
    fileprivate static func beginning(_ tools: [any Tool], _ instructions: FoundationModels.Instructions?) -> Self {
        let definitions = SessionTools(tools).listed
        let entry = Instructions(segments: instructions?.segments ?? [], toolDefinitions: definitions)
        return Transcript(entries: definitions.isEmpty && instructions == nil ? [] : [.instructions(entry)])
    }
}
