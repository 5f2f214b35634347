/// What a profile is at one moment.
struct ResolvedProfile {
    /// Which profile it is: the types and branches on the way to it.
    var path: [String] = []
    var instructions = ResolvedInstructions()
    var model: (any LanguageModel)?
    var options = GenerationOptions()
    var reasoningLevel: ContextOptions.ReasoningLevel?
    var errorHandling: TranscriptErrorHandlingPolicy?
    /// Applied in order.
    var transforms: [([Transcript.Entry]) -> [Transcript.Entry]] = []
    var callbacks = Callbacks()

    /// What a profile runs, outermost first.
    struct Callbacks {
        var onPrompt: [(Transcript.Prompt) async throws -> Void] = []
        var onResponse: [(Transcript.Response) async throws -> Void] = []
        var onReasoning: [(Transcript.Reasoning) async throws -> Void] = []
        var onToolCall: [(Transcript.ToolCall) async throws -> Void] = []
        var onToolOutput: [(Transcript.ToolCall, Transcript.ToolOutput) async throws -> Void] = []
        var onActivate: [@isolated(any) () async -> Void] = []
        var onDeactivate: [@isolated(any) () async -> Void] = []
    }

    /// A session's own model and tools.
    init(_ model: any LanguageModel, _ tools: [any Tool]) {
        self.model = model
        instructions.tools = tools
    }

    init(_ profile: any LanguageModelSession.DynamicProfile) { profile.add(to: &self) }
}

/// A profile with a modifier.
struct ConfiguredProfile<Content: LanguageModelSession.DynamicProfile>: PrimitiveProfile {
    typealias Body = Never

    let content: Content
    /// Whether the modifier is applied before those inside: callbacks and transforms run outermost first.
    var isFirst = false
    let configure: (inout ResolvedProfile) -> Void

    var body: Never { none }

    func resolve(into resolved: inout ResolvedProfile) {
        if isFirst { configure(&resolved) }
        content.add(to: &resolved)
        // The innermost value wins: this one counts only if there is none.
        if !isFirst { configure(&resolved) }
    }
}
