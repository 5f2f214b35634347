import HTTP
package import LocalLLM
import Wire

/// An event while a request is answered.
package enum AnswerProgress<Form: Sendable>: Sendable {
    /// The model is loaded and the prompt read; the number of choices is known.
    case begun(Form, choices: Int)
    case delta(ChoiceDelta)
    /// No delta came for a while.
    case ping
}

package typealias ProgressStream<Form: Sendable> = AsyncThrowingStream<AnswerProgress<Form>, any Error>

/// An answer that has begun, and the form it is written in.
package struct Answer<Form: Sendable>: Sendable {
    /// Keeps the model loaded until the last event; `nil` if the upstream answers.
    let lease: ModelLease?
    let form: Form
    let conversation: Conversation

    package init(lease: ModelLease?, form: Form, conversation: Conversation) {
        (self.lease, self.form, self.conversation) = (lease, form, conversation)
    }
}

/// Streams the deltas of all choices, with pings until the first delta, also while the model loads.
///
/// Ending the iteration early cancels the generations. A failing choice ends all of them, and so does the request's
/// deadline.
///
/// - Parameters:
///   - promptField: Field to name in the error if the prompt is too long.
///   - prepare: Leases the model, tokenizes the prompt and starts the generations.
package func answers<Form>(
    to context: RequestContext, _ services: Services, promptField: String,
    prepare: @escaping @Sendable () async throws -> Answer<Form>
) -> ProgressStream<Form> {
    let (events, continuation) = ProgressStream<Form>.makeStream()
    let ping = { @Sendable (interval: Duration) in
        try await pause(for: interval)
        continuation.yield(.ping)
    }
    let pings = Task { while true { try await ping(services.pingInterval) } }
    let work = Task {
        defer { pings.cancel() }
        do {
            let answer = try await preparing(context, prepare)
            defer { withExtendedLifetime(answer.lease) {} }
            let conversation = answer.conversation
            continuation.yield(.begun(answer.form, choices: conversation.count))
            // Most errors are known by now, so a long prefill may commit the status.
            let firstPing = Task { try await ping(min(services.pingInterval, services.firstPing)) }
            defer { firstPing.cancel() }
            for whole in conversation.given { continuation.yield(.delta(whole)) }
            try await within(services.requestTimeout) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for stream in conversation.streams {
                        group.addTask {
                            try await read(stream, isLocal: answer.lease != nil, context.trace, services.metrics) {
                                firstPing.cancel()
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

/// Passes on a stream's deltas and counts its tokens.
private func read(
    _ stream: Conversation.Deltas, isLocal: Bool, _ trace: RequestTrace, _ metrics: Metrics,
    _ pass: (ChoiceDelta) -> Void
) async throws {
    guard isLocal else {
        for try await delta in stream {
            if let finish = delta.finish {
                if finish.countsPrompt { trace.addPromptTokens(finish.usage.promptTokens) }
                trace.addCompletionTokens(finish.usage.completionTokens)
            }
            pass(delta)
        }
        return
    }
    var progress = metrics.generationBegins(trace.model ?? "")
    defer { metrics.generationEnds(&progress) }
    for try await delta in stream {
        metrics.generated(delta.ids.count, progress)
        trace.addCompletionTokens(delta.ids.count)
        if delta.progress == nil { metrics.generationContinues(&progress, delta) }
        pass(delta)
    }
}

/// Waits for all choices of a request and sums their deltas, by index.
///
/// - Throws: The error of the stream; `CancellationError` if a choice is incomplete.
package func collect<Form>(_ events: ProgressStream<Form>) async throws -> (form: Form, choices: [ChoiceDelta]) {
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
    /// Sum of their token counts.
    var usage: TokenUsage { compactMap(\.finish).usage }
}

extension [ChoiceDelta.Finish] {
    /// Sum of their token counts.
    var usage: TokenUsage { reduce(TokenUsage()) { $0 + TokenUsage($1) } }
}

/// Runs `body` with a deadline; throws a 504 when it is over.
package func within<Result: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask(operation: body)
        group.addTask {
            try await pause(for: limit)
            throw APIError(
                status: 504, kind: .server,
                message: "The answer exceeded the time limit of \(limit.components.seconds) seconds.",
                code: "request_timeout")
        }
        defer { group.cancelAll() }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}
