import Foundation
import LocalLLM
import Synchronization

/// What a caller of a session asks.
struct SessionRequest: Sendable {
    let prompt: Prompt
    /// Schema of the answer; `nil`: text.
    let format: Transcript.ResponseFormat?
    let options: GenerationOptions
    let context: ContextOptions
    let metadata: [String: GeneratedContent]

    init(
        prompt: Prompt, format: Transcript.ResponseFormat?, options: GenerationOptions,
        context: ContextOptions = .init(),
        metadata: [String: any ConvertibleToGeneratedContent & Sendable] = [:]
    ) {
        self.prompt = prompt
        self.format = format
        self.options = options
        self.context = context
        self.metadata = metadata.contents
    }
}

/// A request of a session, from the prompt to its answer in the transcript: as many messages of the model as it takes until
/// one is not calls of tools.
struct Turn {
    private let session: LanguageModelSession
    private let request: SessionRequest
    /// Called with the answer so far whenever it grows.
    private let show: @Sendable (LanguageModelSession.Progress) -> Void
    private let id = GenerationID()
    private var profile: ResolvedProfile
    /// What the request has added to the transcript, whatever callbacks made of that.
    private var added: [Transcript.Entry] = []
    private var usage = LanguageModelSession.Usage()
    private var probabilities: [TokenProbability] = []
    /// Number of omissions before the request.
    private let omissionCount: Int
    /// Texts and reasoning of the messages so far, which ended in calls.
    private var earlier = (texts: [String](), reasoning: [String](), callCount: 0)
    /// The message under way.
    private let partial = Partial()

    private final class Partial: Sendable {
        let message = Mutex<GeneratedMessage?>(nil)
    }

    init(
        _ session: LanguageModelSession, _ request: SessionRequest,
        show: @escaping @Sendable (LanguageModelSession.Progress) -> Void
    ) {
        self.session = session
        self.request = request
        self.show = show
        profile = session.resolvedProfile()
        omissionCount = session.transcript.omissions.count
    }

    /// - Throws: What ends the request, after the transcript was put into the state that the error policy wants.
    mutating func run() async throws -> LanguageModelSession.Answer {
        let before = session.transcript
        do {
            try await ask()
            while true {
                if let answer = try await nextMessage() { return answer }
                profile = session.resolvedProfile()
                await activate()
            }
        } catch {
            if errorHandling == .preserveTranscript {
                let entries = partial.message.withLock { $0?.said() ?? [] }
                session.observedTranscript.update { $0 += entries }
            } else {
                session.observedTranscript.update { $0 = before }
            }
            throw named(error)
        }
    }

    private var errorHandling: TranscriptErrorHandlingPolicy {
        profile.errorHandling ?? session.transcriptErrorHandlingPolicy ?? .revertTranscript
    }

    /// Adds the prompt to the transcript.
    private mutating func ask() async throws {
        await activate()
        // A provider reviews prompts itself.
        if let model = profile.model as? SystemLanguageModel {
            try model.guardrails.check(prompts: [request.prompt.text])
        }
        let prompt = Transcript.Prompt(
            metadata: request.metadata, segments: try request.prompt.segments.readingImages(),
            options: request.options, responseFormat: request.format, contextOptions: request.context)
        add(.prompt(prompt))
        try await call(profile.callbacks.onPrompt, prompt)
        if !profile.callbacks.onPrompt.isEmpty {
            profile = session.resolvedProfile()
            await activate()
        }
    }

    /// - Returns: The answer; `nil` if the message called tools.
    private mutating func nextMessage() async throws -> LanguageModelSession.Answer? {
        let messageRequest = MessageRequest(session, profile, request)
        let message = try await messageRequest.message(shown())
        partial.message.withLock { $0 = nil }
        usage += message.usage
        probabilities += message.probabilities
        session.count(message.usage)
        try session.checkChanges()
        let calls = try message.calls()
        guard calls.isEmpty else {
            try await run(calls, of: message, messageRequest.tools)
            return nil
        }
        var content = GeneratedContent(message.text)
        var value: (GeneratedContent, String)?
        if let format = request.format {
            content = try GeneratedContent(json: message.text, id: id)
            guard content.isComplete else {
                throw content.failure("expected a whole \(format.name), but the answer reached its maximum length")
            }
            value = (content, format.name)
        }
        var entries = message.said(as: value)
        // An answer without text is an answer.
        if !entries.contains(where: { if case .response = $0 { true } else { false } }) {
            entries.append(.response(.init(assetIDs: message.assetIDs, segments: .init(text: message.text))))
        }
        try await add(entries)
        var next = messageRequest
        next.transcript = profile.read(of: session.transcript)
        if profile.model is SystemLanguageModel { await next.warm() }
        return .init(
            content: content, entries: added[...], usage: usage,
            omissions: Array(session.transcript.omissions.dropFirst(omissionCount)), probabilities: probabilities)
    }

    /// Runs the calls of a message.
    private mutating func run(
        _ calls: [Transcript.ToolCall], of message: GeneratedMessage, _ tools: SessionTools
    ) async throws {
        earlier.callCount += calls.count
        // Readers of the stream learn of the calls after the text that precedes them.
        if request.format == nil { shown()(message) }
        // What follows is in the transcript as a whole.
        partial.message.withLock { $0 = nil }
        earlier.texts.append(message.text)
        earlier.reasoning.append(message.reasoning)
        try await add(message.said())
        add(.toolCalls(.init(id: message.callsID, calls)))
        for one in calls { try await call(profile.callbacks.onToolCall, one) }
        let outputs = try await tools.run(calls)
        try session.checkChanges()
        for (one, output) in zip(calls, outputs) {
            add(.toolOutput(output))
            try await call(profile.callbacks.onToolOutput.map { action in { try await action(one, $0) } }, output)
        }
    }

    /// Shows a message that grows as the answer so far.
    private func shown() -> @Sendable (GeneratedMessage) -> Void {
        let (format, id, show, partial) = (request.format, id, show, partial)
        let (added, usage, earlier) = (added, usage, earlier)
        return { message in
            partial.message.withLock { $0 = message }
            var progress = LanguageModelSession.Progress(content: GeneratedContent(message.text))
            if format != nil {
                guard let content = try? GeneratedContent(json: message.text, id: id) else { return }
                progress.content = content
            }
            progress.entries = added + message.said()
            progress.usage = usage
            progress.usage += message.usage
            progress.reasoning = (earlier.reasoning + [message.reasoning]).paragraphs
            progress.earlierText = earlier.texts.paragraphs
            progress.callCount = earlier.callCount
            show(progress)
        }
    }

    // MARK: The transcript and the profile

    private mutating func add(_ entry: Transcript.Entry) {
        added.append(entry)
        session.observedTranscript.update { $0.append(entry) }
    }

    /// Adds what the model said, and tells the profile.
    private mutating func add(_ entries: [Transcript.Entry]) async throws {
        for entry in entries {
            add(entry)
            switch entry {
            case .reasoning(let reasoning): try await call(profile.callbacks.onReasoning, reasoning)
            case .response(let response): try await call(profile.callbacks.onResponse, response)
            case .instructions, .prompt, .toolCalls, .toolOutput: break
            }
        }
    }

    private func call<Value: Sendable>(_ actions: [(Value) async throws -> Void], _ value: Value) async throws {
        for action in actions {
            try await SessionScope.$current.withValue(SessionScope(properties: session.properties, isCallback: true)) {
                try await action(value)
            }
            try session.checkChanges()
        }
    }

    /// Makes the profile the session's active one, and its instructions those of the transcript.
    private func activate() async {
        guard case .dynamic = session.source else { return }
        if session.active?.path != profile.path {
            let left = session.active?.onDeactivate ?? []
            session.active = (profile.path, profile.callbacks.onDeactivate)
            let scope = SessionScope(properties: session.properties, isCallback: true)
            for action in left + profile.callbacks.onActivate {
                await SessionScope.$current.withValue(scope) { await action() }
            }
        }
        session.observedTranscript.update { $0.lead(with: profile.instructions) }
    }
}

extension ResolvedProfile {
    /// What the model reads of a transcript.
    func read(of transcript: Transcript) -> Transcript {
        guard !transforms.isEmpty else { return transcript }
        var read = transcript
        read.history = transforms.reduce(Array(transcript.history)) { $1($0) }[...]
        return read
    }
}

extension MessageRequest {
    /// The next message of a session.
    ///
    /// - Parameter request: `nil`: one that is not made yet.
    init(_ session: LanguageModelSession, _ profile: ResolvedProfile, _ request: SessionRequest? = nil) {
        var context = request?.context ?? .init()
        context.reasoningLevel = context.reasoningLevel ?? profile.reasoningLevel
        self.init(
            session: session, model: profile.model ?? SystemLanguageModel.default,
            transcript: profile.read(of: session.transcript), tools: SessionTools(profile.instructions.tools),
            format: request?.format, options: (request?.options ?? .init()).filled(from: profile.options),
            context: context, metadata: request?.metadata ?? [:])
    }
}

extension [String] {
    /// The non-empty texts, joined as paragraphs.
    fileprivate var paragraphs: String { filter { !$0.isEmpty }.joined(separator: "\n\n") }
}

extension LanguageModelSession {
    /// Answers a prompt.
    func answer(_ request: SessionRequest) async throws -> Answer {
        guard beginRequest() else { throw Error.concurrentRequests }
        return try await answerBegun(request) { _ in }
    }

    func stream<Content: Generable>(_ request: SessionRequest) -> ResponseStream<Content> {
        let isFree = beginRequest()
        return ResponseStream { [self] show in
            guard isFree else { throw Error.concurrentRequests }
            return try await answerBegun(request, show: show)
        }
    }

    /// Runs the request that `beginRequest` started.
    private func answerBegun(
        _ request: SessionRequest, show: @escaping @Sendable (Progress) -> Void
    ) async throws -> Answer {
        defer { endRequest() }
        return try await SessionScope.$current.withValue(SessionScope(properties: properties)) {
            var turn = Turn(self, request, show: show)
            return try await turn.run()
        }
    }
}
