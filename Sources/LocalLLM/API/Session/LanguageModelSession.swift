public import Observation
import Synchronization

/// A conversation with a model: it remembers what was said, and answers one prompt at a time.
///
/// Any task may use it, on any actor. What was computed for earlier turns is kept, so that a turn computes only what is new.
public final class LanguageModelSession: Observable, Sendable {
    let model: SystemLanguageModel
    let observedTranscript: Observed<Transcript>
    private let responding = Observed(false)
    private let overflowPolicy = Mutex(ContextOverflowPolicy.trimOldest)
    /// Computes what the next turn begins with; letting it go stops it.
    private let warmUp = Mutex<Generation?>(nil)

    /// What the model may call while it answers.
    public let tools: [any Tool]

    /// Begins a conversation.
    ///
    /// - Parameters:
    ///   - tools: What the model may call while it answers.
    ///   - instructions: What the model is told before it.
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
    ///   - tools: What the model may call while it answers.
    ///   - instructions: What the model is told before it.
    @_disfavoredOverload
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [], instructions: String?
    ) {
        self.init(model: model, tools: tools, instructions: instructions.map { Instructions($0) })
    }

    /// Begins a conversation.
    ///
    /// - Parameters:
    ///   - tools: What the model may call while it answers.
    ///   - instructions: What the model is told before it.
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [],
        @InstructionsBuilder instructions: () throws -> Instructions
    ) rethrows {
        self.init(model: model, tools: tools, instructions: try instructions())
    }

    /// Goes on with a conversation.
    ///
    /// - Parameter tools: What the model may call from now on, whatever the transcript's instructions list.
    public init(model: SystemLanguageModel = .default, tools: [any Tool] = [], transcript: Transcript) {
        self.model = model
        self.tools = tools
        observedTranscript = Observed(transcript)
    }

    /// What was said. A prompt is in it from the moment it is asked; if there is no answer to it, because of an error or
    /// because it was cancelled, it is taken out again.
    public var transcript: Transcript { observedTranscript.value }

    /// Whether an answer is under way.
    public var isResponding: Bool { responding.value }

    /// What happens when the conversation does not fit the model's context any more.
    public var contextOverflowPolicy: ContextOverflowPolicy {
        get { overflowPolicy.withLock { $0 } }
        set { overflowPolicy.withLock { $0 = newValue } }
    }

    /// Loads the model, and has it read the instructions and what was said, so that the first word of the answer comes
    /// sooner. Returns at once; whether the model could be loaded, its status tells.
    ///
    /// - Parameter promptPrefix: What the next prompt will begin with.
    public func prewarm(promptPrefix: Prompt? = nil) {
        Task.detached { [self] in
            guard let local = try? await model.host.model() else { return }
            warm(local, .init(), prefix: promptPrefix?.text ?? "")
        }
    }

    /// Has the model compute what every next prompt begins with, in the background.
    ///
    /// An answer's tokens were computed one by one, which rounds otherwise than a prompt's, and those of a model that thinks
    /// are followed by others in the conversation than they were when they came. Where the difference matters, this computes
    /// them as the next turn needs them while the user still reads.
    func warm(_ local: LocalModel, _ options: GenerationOptions, prefix: String = "") {
        guard let tools = try? SessionTools(self.tools) else { return }
        let window = ConversationWindow(transcript, for: model.useCase, tools: tools)
        // Pictures are computed when a prompt is answered, and found in the prefix cache by the next.
        guard !window.hasImages else { return }
        guard let tokens = try? window.beginning(for: local, prefix: prefix), !tokens.isEmpty else { return }
        var sampling = SamplingOptions(options)
        sampling.maximumTokens = 1
        let generation = local.generate(tokens: tokens, options: sampling)
        warmUp.withLock { $0 = generation }
    }

    /// - Returns: Whether the session was free. If so, `endRequest` must follow.
    func beginRequest() -> Bool {
        responding.update { isResponding in
            defer { isResponding = true }
            return !isResponding
        }
    }

    func endRequest() { responding.update { $0 = false } }
}
