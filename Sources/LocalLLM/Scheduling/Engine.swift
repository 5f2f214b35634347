import Foundation
import Synchronization
import Tokenizer

/// Owns a model's thread. Requests reach it through an inbox and get their text back as a stream.
///
/// `@unchecked Sendable`: everything but the inbox is touched only by the engine's thread.
final class Engine: @unchecked Sendable {
    struct Request: Sendable {
        let tokens: [Int32]
        let chain: Sampler.Chain
        let options: GenerationOptions
        /// Tokens that may be generated: the option's limit, or what the context leaves.
        let maximumTokens: Int
    }

    private enum Message {
        case generate(Scheduler.ID, Request, AsyncThrowingStream<GenerationPiece, any Error>.Continuation)
        case cancel(Scheduler.ID)
        /// Anything else that must run between two steps.
        case perform(@Sendable (any Network, Compute) -> Void)
        case stop
    }

    private struct Inbox {
        var messages: [Message] = []
        var nextID = 0
        var isStopped = false
    }

    /// Rows of a step: enough for the matrix products to run at full speed, and 16 sequences beside each other.
    static let rowBudget = 512
    private static let concurrency = 16

    private let inbox = Mutex(Inbox())
    private let arrival = DispatchSemaphore(value: 0)
    private let network: any Network
    private let compute: Compute
    private let tokenizer: TextTokenizer?
    private var scheduler: Scheduler
    private var sequences: [Scheduler.ID: Sequence] = [:]

    /// - Parameter cacheTokens: Tokens that there is memory for, in all sequences together.
    init(network: any Network, compute: Compute, tokenizer: TextTokenizer?, cacheTokens: Int) {
        scheduler = Scheduler(rowBudget: Self.rowBudget, concurrency: Self.concurrency, capacity: cacheTokens)
        self.network = network
        self.compute = compute
        self.tokenizer = tokenizer
        let thread = Thread { [self] in loop() }
        thread.name = "LocalLLM engine"
        thread.start()
    }

    // MARK: From any thread

    func submit(_ request: Request) -> Generation {
        let (stream, continuation) = AsyncThrowingStream<GenerationPiece, any Error>.makeStream()
        let id = inbox.withLock { inbox -> Int? in
            guard !inbox.isStopped else { return nil }
            inbox.nextID += 1
            inbox.messages.append(.generate(inbox.nextID, request, continuation))
            return inbox.nextID
        }
        guard let id else {
            continuation.finish(throwing: LanguageModelError.shutDown)
            return Generation(stream) {}
        }
        arrival.signal()
        let cancel: @Sendable () -> Void = { [weak self] in self?.send(.cancel(id)) }
        continuation.onTermination = { reason in if case .cancelled = reason { cancel() } }
        return Generation(stream, cancel: cancel)
    }

    /// Runs `body` on the engine's thread, between two steps.
    func perform<Result: Sendable>(_ body: @escaping @Sendable (any Network, Compute) -> Result) async throws -> Result
    {
        try await withCheckedThrowingContinuation { continuation in
            let accepted = send(.perform { continuation.resume(returning: body($0, $1)) })
            if !accepted { continuation.resume(throwing: LanguageModelError.shutDown) }
        }
    }

    /// Ends the thread after its current step; requests under way end with `LanguageModelError.shutDown`.
    func stop() { send(.stop) }

    @discardableResult
    private func send(_ message: Message) -> Bool {
        let accepted = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            inbox.messages.append(message)
            if case .stop = message { inbox.isStopped = true }
            return true
        }
        if accepted { arrival.signal() }
        return accepted
    }

    // MARK: The engine's thread

    private func loop() {
        while true {
            let entries = scheduler.nextStep()
            if entries.isEmpty { arrival.wait() }
            let messages = inbox.withLock { inbox in
                defer { inbox.messages.removeAll(keepingCapacity: true) }
                return inbox.messages
            }
            for message in messages {
                switch message {
                case .generate(let id, let request, let continuation):
                    sequences[id] = Sequence(request, cache: KVCache(network.cacheShape), tokenizer, continuation)
                    scheduler.add(
                        id, promptTokens: request.tokens.count, limit: request.tokens.count + request.maximumTokens)
                case .cancel(let id): end(id)
                case .perform(let body): body(network, compute)
                case .stop: return shutDown()
                }
            }
            compute(entries.filter { sequences[$0.id] != nil })
        }
    }

    private func compute(_ entries: [Scheduler.Entry]) {
        guard !entries.isEmpty else { return }
        var step = Step()
        for entry in entries {
            let sequence = sequences[entry.id]!
            step.append(
                sequence.tokens[entry.tokens], to: sequence.cache, output: entry.wantsLogits ? .last : .none,
                isAnswer: entry.isAnswer)
        }
        let logits = network.forward(step, on: compute)
        for (row, entry) in entries.filter(\.wantsLogits).enumerated() {
            let isDone = sequences[entry.id]!.accept(UnsafeBufferPointer(start: logits[row], count: logits.columns))
            if isDone { end(entry.id) } else { scheduler.extend(entry.id) }
        }
    }

    private func end(_ id: Scheduler.ID) {
        scheduler.remove(id)
        sequences.removeValue(forKey: id)?.continuation.finish()
    }

    private func shutDown() {
        for sequence in sequences.values { sequence.continuation.finish(throwing: LanguageModelError.shutDown) }
        sequences = [:]
        compute.pool.stop()
    }
}
