public import Observation
import Synchronization

/// A conversation with a model. It keeps the transcript and answers one prompt at a time.
///
/// Safe to use from any task or actor. Earlier turns stay in the prefix cache, so a turn computes only its new tokens.
public final class LanguageModelSession: Observable, Sendable {
    let model: SystemLanguageModel
    /// Answers instead of the model, whose use case and guardrails stay in force.
    let provider: (any Provider)?
    let observedTranscript: Observed<Transcript>
    private let responding = Observed(false)
    private let overflowPolicy = Mutex(ContextOverflowPolicy.trimOldest)
    /// Computes the prefix of the next turn; releasing it cancels that.
    private let warmUp = Mutex<Generation?>(nil)

    /// Tools that the model may call while it answers.
    public let tools: [any Tool]

    /// Begins a conversation.
    ///
    /// - Parameters:
    ///   - tools: Tools that the model may call while it answers.
    ///   - instructions: The system instructions.
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [], instructions: Instructions? = nil
    ) {
        let definitions = tools.filter(\.includesSchemaInInstructions).map { Transcript.ToolDefinition(tool: $0) }
        let segments = instructions.map { [Transcript.Segment](text: $0.text) } ?? []
        let isEmpty = definitions.isEmpty && instructions == nil
        let entry = Transcript.Instructions(segments: segments, toolDefinitions: definitions)
        self.init(model: model, tools: tools, transcript: Transcript(entries: isEmpty ? [] : [.instructions(entry)]))
    }

    /// Begins a conversation.
    ///
    /// - Parameters:
    ///   - tools: Tools that the model may call while it answers.
    ///   - instructions: The system instructions.
    @_disfavoredOverload
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [], instructions: String?
    ) {
        self.init(model: model, tools: tools, instructions: instructions.map { Instructions($0) })
    }

    /// Begins a conversation.
    ///
    /// - Parameters:
    ///   - tools: Tools that the model may call while it answers.
    ///   - instructions: The system instructions.
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
        self.init(model, nil, tools, transcript)
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
        self.init(SystemLanguageModel(guardrails: guardrails), provider, tools, transcript)
    }

    /// Begins a conversation with a provider, such as a service or a model with a fallback.
    public convenience init(provider: any Provider, tools: [any Tool] = [], instructions: String) {
        let entry = Transcript.Instructions(segments: .init(text: instructions))
        self.init(provider: provider, tools: tools, transcript: Transcript(entries: [.instructions(entry)]))
    }

    private init(
        _ model: SystemLanguageModel, _ provider: (any Provider)?, _ tools: [any Tool], _ transcript: Transcript
    ) {
        self.model = model
        self.provider = provider
        self.tools = tools
        observedTranscript = Observed(transcript)
    }

    /// The conversation so far. A prompt is added when it is asked, and removed if it fails or is cancelled.
    public var transcript: Transcript { observedTranscript.value }

    /// Whether a request is running.
    public var isResponding: Bool { responding.value }

    /// What happens when the conversation no longer fits the model's context.
    public var contextOverflowPolicy: ContextOverflowPolicy {
        get { overflowPolicy.withLock { $0 } }
        set { overflowPolicy.withLock { $0 = newValue } }
    }

    /// Loads the model and prefills the instructions and earlier turns, so that the next answer starts sooner. Returns
    /// at once; `SystemLanguageModel.status` shows whether the model could be loaded.
    ///
    /// With a provider this does nothing.
    ///
    /// - Parameter promptPrefix: Known beginning of the next prompt.
    public func prewarm(promptPrefix: Prompt? = nil) {
        guard provider == nil else { return }
        Task.detached { [self] in
            guard let local = try? await model.host.model() else { return }
            warm(local, .init(), prefix: promptPrefix?.text ?? "")
        }
    }

    /// Prefills the prefix that every next prompt shares, in the background.
    ///
    /// The cache holds the last answer as it was decoded, one token at a time, which rounds differently from prefill;
    /// and for reasoning models the template renders that answer differently in the next turn. Where this matters, the
    /// prefix is computed again while the user still reads.
    func warm(_ local: LocalModel, _ options: GenerationOptions, prefix: String = "") {
        guard let tools = try? SessionTools(self.tools) else { return }
        let window = ConversationWindow(transcript, for: model.useCase, tools: tools)
        // Images are computed when a prompt is answered, and found in the prefix cache by the next.
        guard !window.hasImages else { return }
        guard let tokens = try? window.beginning(for: local, prefix: prefix), !tokens.isEmpty else { return }
        var sampling = SamplingOptions(options)
        sampling.maximumTokens = 1
        let generation = local.generate(tokens: tokens, options: sampling)
        warmUp.withLock { $0 = generation }
    }

    /// - Returns: Whether the session was idle. If so, `endRequest` must follow.
    func beginRequest() -> Bool {
        responding.update { isResponding in
            defer { isResponding = true }
            return !isResponding
        }
    }

    func endRequest() { responding.update { $0 = false } }
}
