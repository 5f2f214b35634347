import LocalLLM
public import Observation
import Synchronization

/// A conversation with a model. It keeps the transcript and answers one prompt at a time.
///
/// Safe to use from any task or actor. Earlier turns stay in the prefix cache, so a turn computes only its new tokens.
///
/// `@unchecked Sendable`: `source` and `active` may hold closures that are not `Sendable`. Only the request under way uses
/// them, and a session has one at a time.
public final class LanguageModelSession: Observable, @unchecked Sendable {
    /// What decides the session's model, tools and options.
    enum Source {
        case fixed(any LanguageModel, [any Tool])
        case dynamic(any DynamicProfile)
    }

    let source: Source
    /// The profile of the last request, with what to call when another becomes active.
    var active: (path: [String], onDeactivate: [@isolated(any) () async -> Void])?
    let executors = ExecutorStore()
    let observedTranscript: Observed<Transcript>
    private let responding = Observed(false)
    private let observedUsage = Observed(Usage())
    /// Whether a change of the transcript was dropped during the request under way.
    private let isViolated = Mutex(false)
    private let errorHandling = Mutex<TranscriptErrorHandlingPolicy?>(nil)
    private let overflowPolicy = Mutex(ContextOverflowPolicy.trim)
    /// Computes the prefix of the next turn; releasing it cancels that.
    private let warmUp = Mutex<Generation?>(nil)

    /// The values of the session properties.
    public let properties = SessionPropertyValues()

    init(_ source: Source, _ transcript: Transcript) {
        self.source = source
        observedTranscript = Observed(transcript)
        properties.session = self
    }

    /// The conversation so far. A prompt is added when it is asked, and removed if it fails or is cancelled, unless
    /// `transcriptErrorHandlingPolicy` keeps it.
    ///
    /// It can be changed while the session is idle. A change while it answers is dropped, and ends the request with
    /// `Error.transcriptMutationWhileResponding`.
    public var transcript: Transcript {
        get { observedTranscript.value }
        set { change { $0 = newValue } }
    }

    /// Changes the transcript on behalf of the app.
    func change(_ body: (inout Transcript) -> Void) {
        let scope = SessionScope.current.flatMap { $0.properties === properties ? $0 : nil }
        if responding.value, scope?.isCallback != true {
            isViolated.withLock { $0 = true }
        } else {
            observedTranscript.update(body)
        }
    }

    /// - Throws: `Error.transcriptMutationWhileResponding` if a change of the transcript was dropped.
    func checkChanges() throws {
        if isViolated.withLock({ $0 }) { throw Error.transcriptMutationWhileResponding }
    }

    /// Whether a request is running.
    public var isResponding: Bool { responding.value }

    /// Token counts of all requests.
    public var usage: Usage { observedUsage.value }

    func count(_ usage: Usage) { observedUsage.update { $0 += usage } }

    /// What happens to the transcript when a request fails, unless the profile decides it; `nil`: `revertTranscript`.
    public var transcriptErrorHandlingPolicy: TranscriptErrorHandlingPolicy? {
        get { errorHandling.withLock { $0 } }
        set { errorHandling.withLock { $0 = newValue } }
    }

    /// What happens when the conversation no longer fits the model's context.
    public var contextOverflowPolicy: ContextOverflowPolicy {
        get { overflowPolicy.withLock { $0 } }
        set { overflowPolicy.withLock { $0 = newValue } }
    }

    /// Loads the model and prefills the instructions and earlier turns, so that the next answer starts sooner. Returns
    /// at once; `SystemLanguageModel.status` shows whether the model could be loaded.
    ///
    /// - Parameter promptPrefix: Known beginning of the next prompt.
    public func prewarm(promptPrefix: Prompt? = nil) {
        guard !responding.value else { return }
        let profile = resolvedProfile()
        if case .dynamic = source { observedTranscript.update { $0.lead(with: profile.instructions) } }
        let request = MessageRequest(self, profile)
        Task.detached { await request.warm(prefix: promptPrefix?.text ?? "") }
    }

    /// Keeps the computation of a prefix going.
    func keep(_ generation: Generation) { warmUp.withLock { $0 = generation } }

    /// The profile at this moment.
    func resolvedProfile() -> ResolvedProfile {
        switch source {
        case .fixed(let model, let tools): ResolvedProfile(model, tools)
        case .dynamic(let profile):
            SessionScope.$current.withValue(SessionScope(properties: properties)) { ResolvedProfile(profile) }
        }
    }

    /// - Returns: Whether the session was idle. If so, `endRequest` must follow.
    func beginRequest() -> Bool {
        responding.update { isResponding in
            defer { isResponding = true }
            if !isResponding { isViolated.withLock { $0 = false } }
            return !isResponding
        }
    }

    func endRequest() { responding.update { $0 = false } }
}

extension Transcript {
    /// Replaces the leading instructions by those of a profile; the same instructions stay the same entry.
    mutating func lead(with resolved: ResolvedInstructions) {
        let definitions = SessionTools(resolved.tools).listed
        guard !definitions.isEmpty || !resolved.parts.isEmpty else { return lead(with: nil) }
        let segments = resolved.parts.isEmpty ? [] : FoundationModels.Instructions(parts: resolved.parts).segments
        if let known = leading, known.toolDefinitions == definitions, known.segments.count == segments.count,
            zip(known.segments, segments).allSatisfy({ $0.saysSame(as: $1) })
        {
            return
        }
        lead(with: Instructions(segments: segments, toolDefinitions: definitions))
    }
}

extension Transcript.Segment {
    /// Whether the segments differ at most in their ids.
    fileprivate func saysSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.text(let one), .text(let other)): one.content == other.content
        case (.attachment(let one), .attachment(let other)): one.content == other.content && one.label == other.label
        default: self == other
        }
    }
}
