import HTTP
import LocalLLM
import Wire

/// What happens while a request is answered.
enum AnswerProgress<Form: Sendable>: Sendable {
    /// The model is in memory, and so many choices in this form will come.
    case begun(Form, choices: Int)
    case delta(ChoiceDelta)
    /// Nothing came for a while.
    case ping
}

typealias ProgressStream<Form: Sendable> = AsyncThrowingStream<AnswerProgress<Form>, any Error>

/// One choice to generate, and who makes deltas of it.
struct Choice: Sendable {
    let generation: Generation
    let reader: ChoiceReader
}

/// What a request asks of a model, once that is in memory.
struct Answer<Form: Sendable>: Sendable {
    /// Keeps the model in memory until the last event.
    let lease: EngineLease
    let form: Form
    /// Choices that are whole without generating anything.
    var given: [ChoiceDelta] = []
    var choices: [Choice] = []
}

/// The deltas of all choices as they come, with pings until the first, also while the model is loaded.
///
/// Ending the iteration early cancels the generations. A choice that fails ends all of them, and so does the time
/// that a request may take.
///
/// - Parameters:
///   - promptField: The field that a client is told to shorten when the prompt is too long.
///   - prepare: Gets the model, reads the prompt and begins to generate.
func answers<Form>(
    to context: RequestContext, _ services: Services, promptField: String,
    prepare: @escaping @Sendable () async throws -> Answer<Form>
) -> ProgressStream<Form> {
    let (events, continuation) = ProgressStream<Form>.makeStream()
    let pings = Task {
        while true {
            try await pause(for: services.pingInterval)
            continuation.yield(.ping)
        }
    }
    let work = Task {
        defer { pings.cancel() }
        do {
            let answer = try await preparing(context, prepare)
            defer { withExtendedLifetime(answer.lease) {} }
            continuation.yield(.begun(answer.form, choices: answer.given.count + answer.choices.count))
            for whole in answer.given { continuation.yield(.delta(whole)) }
            try await within(services.requestTimeout) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for choice in answer.choices {
                        group.addTask {
                            try await read(choice, context.trace, services.metrics) {
                                pings.cancel()
                                continuation.yield(.delta($0))
                            }
                        }
                    }
                    while try await group.next() != nil {}
                }
            }
            continuation.finish()
        } catch is CancellationError {
            continuation.finish(throwing: CancellationError())
        } catch {
            continuation.finish(throwing: APIError(reporting: error, promptField: promptField))
        }
    }
    continuation.onTermination = { _ in
        work.cancel()
        pings.cancel()
    }
    return events
}

/// Passes a choice's deltas on, and counts what it costs.
private func read(
    _ choice: Choice, _ trace: RequestTrace, _ metrics: Metrics, _ pass: (ChoiceDelta) -> Void
) async throws {
    var progress = metrics.generationBegins()
    defer { metrics.generationEnds(&progress) }
    var reader = choice.reader
    for try await piece in choice.generation {
        let delta = try reader.read(piece)
        metrics.generated(piece.tokens.count)
        trace.addCompletionTokens(piece.tokens.count)
        if delta.progress == nil { metrics.generationContinues(&progress, delta) }
        pass(delta)
    }
}

/// The choices of a request once they are whole, by their index, and their form.
///
/// - Throws: What ended the events early; `CancellationError` where a choice did not come to its end.
func collect<Form>(_ events: ProgressStream<Form>) async throws -> (form: Form, choices: [ChoiceDelta]) {
    var (form, whole): (Form?, [ChoiceDelta]) = (nil, [])
    for try await event in events {
        switch event {
        case .begun(let begun, let count): (form, whole) = (begun, (0..<count).map { ChoiceDelta(choice: $0) })
        case .delta(let delta): whole[delta.choice] += delta
        case .ping: break
        }
    }
    guard let form, whole.allSatisfy({ $0.finish != nil }) else { throw CancellationError() }
    return (form, whole)
}

extension [ChoiceDelta] {
    /// What they cost together.
    var usage: TokenUsage { compactMap(\.finish).reduce(TokenUsage()) { $0 + $1.usage } }
}

/// Does `body`, or gives up on it when the time is over.
func within<Result: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask(operation: body)
        group.addTask {
            try await pause(for: limit)
            throw APIError(
                status: 504, kind: .server,
                message: "The answer took longer than the \(limit.components.seconds) seconds that a request may take.",
                code: "request_timeout")
        }
        defer { group.cancelAll() }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}
