import HTTP
import LocalLLM
import Wire

/// What happens while a request's choices are generated.
enum AnswerEvent: Sendable {
    case delta(ChoiceDelta)
    /// Nothing came for a while.
    case ping
}

typealias AnswerEvents = AsyncThrowingStream<AnswerEvent, any Error>

/// One choice to generate, and who makes deltas of it.
struct Choice: Sendable {
    let generation: Generation
    let reader: ChoiceReader
}

extension Router {
    /// The deltas of all choices as they come, with pings until the first.
    ///
    /// Ending the iteration early cancels the generations. A choice that fails ends all of them, and so does the time
    /// that a request may take.
    ///
    /// - Parameters:
    ///   - lease: Keeps the model in memory until the last event.
    ///   - promptField: The field that a client is told to shorten when the prompt is too long.
    func answers(_ choices: [Choice], _ lease: EngineLease, promptField: String) -> AnswerEvents {
        let (events, continuation) = AnswerEvents.makeStream()
        let pings = Task {
            while true {
                try await pause(for: pingInterval)
                continuation.yield(.ping)
            }
        }
        let work = Task {
            defer {
                pings.cancel()
                withExtendedLifetime(lease) {}
            }
            do {
                try await within(requestTimeout) {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for choice in choices {
                            group.addTask {
                                try await read(choice) {
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
    private func read(_ choice: Choice, _ pass: (ChoiceDelta) -> Void) async throws {
        var progress = metrics.generationBegins()
        defer { metrics.generationEnds(&progress) }
        var reader = choice.reader
        for try await piece in choice.generation {
            let delta = reader.read(piece)
            metrics.generated(piece.tokens.count)
            RequestNotes.current?.add(piece.tokens.count, to: "completion_tokens")
            metrics.generationContinues(&progress, delta)
            pass(delta)
        }
    }
}

/// The choices of a request once they are whole, by their index.
///
/// - Throws: What ended the events early; `CancellationError` where a choice did not come to its end.
func collect(_ events: AnswerEvents, choices: Int) async throws -> [ChoiceDelta] {
    var whole = (0..<choices).map { ChoiceDelta(choice: $0) }
    for try await event in events {
        if case .delta(let delta) = event { whole[delta.choice] += delta }
    }
    guard whole.allSatisfy({ $0.finish != nil }) else { throw CancellationError() }
    return whole
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
