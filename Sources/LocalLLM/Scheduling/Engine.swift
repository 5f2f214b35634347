import Foundation
import KernelFormats
import Synchronization
import Tokenizer

/// Owns a model's thread. Requests reach it through an inbox and get their text back as a stream.
///
/// `@unchecked Sendable`: everything but the inbox is touched only by the engine's thread.
final class Engine: @unchecked Sendable {
    struct Request: Sendable {
        let tokens: [Int32]
        /// What the encoder of an encoder-decoder reads; `tokens` are then the decoder's.
        var encoding: [Int32]?
        /// Pictures, which stand for tokens with negative ids.
        var images: SequenceImages?
        let chain: Sampler.Chain
        let options: SamplingOptions
        var adapters = AdapterSelection.none
        var group: GenerationGroup?
        /// Tokens that may be generated: the option's limit, or what the context leaves.
        let maximumTokens: Int
        /// Who shares the machine with other clients; `nil`: nobody in particular.
        var client = LocalModel.client
        /// What may follow all tokens so far. The model checks it in one step; the text is the same as without.
        var draft: (@Sendable (_ tokens: [Int32]) -> [Int32])?
    }

    private enum InboxMessage {
        case generate(Scheduler.ID, Request, AsyncThrowingStream<GenerationPiece, any Error>.Continuation)
        case cancel(Scheduler.ID)
        /// Anything else that must run between two steps.
        case perform(Reading, client: String)
        case stop
    }

    /// Called with `nil` where the engine stops before its turn.
    private typealias Reading = @Sendable ((network: any Network, compute: Compute)?) -> Void

    private struct Inbox {
        var messages: [InboxMessage] = []
        var nextID = 0
        /// Requests that have not ended.
        var underWay: Admission
        var activity = LocalModel.Activity()
        var isStopped = false
    }

    /// Rows of a step: enough for the matrix products to run at full speed.
    static let rowBudget = 512
    /// How long a step may take while answers run: longer, and one would see them stall.
    private static let secondsOfStep = 0.25
    static let concurrency = 64

    private let inbox: Mutex<Inbox>
    private let arrival = DispatchSemaphore(value: 0)
    /// The model's name, for errors.
    private let name: String
    private let network: any Network
    private let compute: Compute
    private let tokenizer: TextTokenizer?
    private let queueLimit: Int
    private let checkIntact: @Sendable () throws(ModelFileError) -> Void
    private let spareBytes: @Sendable () -> Int
    private let cacheBytes: Int
    private var scheduler: Scheduler
    private var sequences: [Scheduler.ID: Sequence] = [:]
    /// All states of this engine.
    private let memory = StateMemory()
    private var prefixes: PrefixCache
    /// What a row of a prompt took lately.
    private var secondsOfRow = 0.0
    /// The same of a single answer's rows, which are fewer.
    private var rowCost = RowCost()
    /// What else is to be computed between two steps.
    private var readings = FairQueue<Reading>()
    /// Until then, steps come first: those who generate get as much time as those who read.
    private var nextReading = ContinuousClock.now
    /// Bytes of states when free memory was last looked at.
    private var reviewedBytes = 0

    /// - Parameters:
    ///   - cacheBytes: Most memory for states, of running sequences and of what they began with.
    ///   - spareBytes: How much more there is now.
    ///   - queueLimit: Most requests that wait.
    ///   - checkIntact: Throws once results are worth nothing, since the model's file has changed.
    init(
        network: any Network, compute: Compute, tokenizer: TextTokenizer?, cacheBytes: Int,
        spareBytes: @escaping @Sendable () -> Int, queueLimit: Int, name: String = "the model",
        checkIntact: @escaping @Sendable () throws(ModelFileError) -> Void = {}
    ) {
        let shape = network.stateShape
        scheduler = Scheduler(
            concurrency: Self.concurrency, capacity: cacheBytes, stateBytes: { shape.bytes(tokens: $0) })
        prefixes = PrefixCache(memory)
        self.name = name
        self.network = network
        self.compute = compute
        self.tokenizer = tokenizer
        self.cacheBytes = cacheBytes
        self.spareBytes = spareBytes
        self.queueLimit = queueLimit
        self.checkIntact = checkIntact
        inbox = Mutex(Inbox(underWay: Admission(limit: Self.concurrency + queueLimit)))
        let thread = Thread { [self] in loop() }
        thread.name = "LocalLLM engine"
        thread.start()
    }

    // MARK: From any thread

    func submit(_ request: Request) -> Generation {
        let (stream, continuation) = AsyncThrowingStream<GenerationPiece, any Error>.makeStream()
        let accepted = inbox.withLock { inbox -> Result<Scheduler.ID, LocalModelError> in
            guard !inbox.isStopped else { return .failure(.shutDown) }
            guard inbox.underWay.hasRoom(for: request.client) else {
                return .failure(.queueFull(limit: queueLimit))
            }
            inbox.nextID += 1
            inbox.underWay.insert(inbox.nextID, of: request.client)
            inbox.messages.append(.generate(inbox.nextID, request, continuation))
            return .success(inbox.nextID)
        }
        switch accepted {
        case .failure(let error):
            continuation.finish(throwing: error)
            return Generation(stream) {}
        case .success(let id):
            arrival.signal()
            let cancel: @Sendable () -> Void = { [weak self] in self?.cancel(id) }
            continuation.onTermination = { reason in if case .cancelled = reason { cancel() } }
            return Generation(stream, cancel: cancel)
        }
    }

    /// What the engine is doing.
    var activity: LocalModel.Activity { inbox.withLock { $0.activity } }

    /// Runs `body` on the engine's thread, between two steps, when it is the turn of the task's client.
    func perform<Result: Sendable>(_ body: @escaping @Sendable (any Network, Compute) -> Result) async throws -> Result
    {
        try await withCheckedThrowingContinuation { continuation in
            let reading: Reading = { [checkIntact] engine in
                if let engine {
                    let result = body(engine.network, engine.compute)
                    do {
                        try checkIntact()
                        continuation.resume(returning: result)
                    } catch {
                        continuation.resume(throwing: error)
                    }
                } else {
                    continuation.resume(throwing: LocalModelError.shutDown)
                }
            }
            let accepted = send(.perform(reading, client: LocalModel.client ?? ""))
            if !accepted { continuation.resume(throwing: LocalModelError.shutDown) }
        }
    }

    /// Ends the thread after its current step; requests under way end with `LocalModelError.shutDown`.
    func stop() { send(.stop) }

    private func cancel(_ id: Scheduler.ID) {
        inbox.withLock { $0.underWay.remove(id) }
        send(.cancel(id))
    }

    @discardableResult
    private func send(_ message: InboxMessage) -> Bool {
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
            let entries = nextStep()
            report()
            if entries.isEmpty, readings.isEmpty { arrival.wait() }
            for message in messages() {
                switch message {
                case .generate(let id, let request, let continuation): begin(id, request, continuation)
                case .cancel(let id): end(id)
                case .perform(let reading, let client): readings.append(reading, of: client)
                case .stop: return shutDown()
                }
            }
            compute(entries.filter { sequences[$0.id] != nil })
            read(isAlone: entries.isEmpty)
        }
    }

    /// Computes one piece of what else there is.
    private func read(isAlone: Bool) {
        let started = ContinuousClock.now
        guard isAlone || started >= nextReading, let reading = readings.next() else { return }
        reading((network, compute))
        let ended = ContinuousClock.now
        nextReading = ended + (ended - started)
    }

    private func report() {
        let counts = scheduler.counts
        inbox.withLock {
            $0.activity = .init(
                running: counts.running, waiting: counts.waiting, cachedTokens: prefixes.count * pageTokens)
        }
    }

    private func messages() -> [InboxMessage] {
        inbox.withLock { inbox in
            defer { inbox.messages.removeAll(keepingCapacity: true) }
            return inbox.messages
        }
    }

    private func begin(
        _ id: Scheduler.ID, _ request: Request,
        _ continuation: AsyncThrowingStream<GenerationPiece, any Error>.Continuation
    ) {
        let sequence = Sequence(request, network, memory, tokenizer, continuation)
        // Whoever is about to compute the same beginning, and the most of it.
        let leader = sequences.filter { $0.value.isPrefilling }
            .map { (id: $0.key, tokens: sequence.sharedPrompt(with: $0.value)) }
            .max { $0.tokens < $1.tokens }
        if let leader { sequences[leader.id]?.wantCheckpoint(at: leader.tokens) }
        sequences[id] = sequence
        scheduler.add(
            id, group: request.group?.number, client: request.client, promptTokens: request.tokens.count, after: leader)
    }

    private func nextStep() -> [Scheduler.Entry] {
        reviewMemory()
        for id in scheduler.preempt() { sequences[id]?.forget() }
        var rows = Self.rowBudget
        if scheduler.isAnswering, secondsOfRow > 0 {
            rows = min(rows, max(1, Int(Self.secondsOfStep / secondsOfRow) / pageTokens) * pageTokens)
        }
        let entries = scheduler.nextStep(rows: rows) {
            sequences[$0]?.start(from: &prefixes) ?? 0
        } pieceEnd: {
            sequences[$0]?.pieceEnd($1) ?? $1.upperBound
        }
        makeRoom(for: entries)
        return entries
    }

    /// Evicts unused prefixes until the step's states fit. Unused ones hold at most a quarter of the capacity.
    private func makeRoom(for entries: [Scheduler.Entry]) {
        let shape = network.stateShape
        let new = entries.reduce(0) { sum, entry in
            // Recurrent floats are copied after a checkpoint, which may be at any page border.
            let recurrentBytes = entry.tokens.lowerBound % pageTokens == 0 ? shape.recurrentBytes : 0
            return sum + (entry.tokens.count / pageTokens + 1) * shape.pageBytes + recurrentBytes
        }
        let used = sequences.values.reduce(0) { $0 + $1.state.bytes }
        let room = max(0, min(scheduler.capacity - new, scheduler.capacity / 4 + used))
        // More at once, so that it is not done in every step.
        if memory.bytes > room { prefixes.shrink(to: room - room / 16) }
    }

    /// Other programs may have taken memory since the model was loaded.
    private func reviewMemory() {
        guard memory.bytes != reviewedBytes else { return }
        reviewedBytes = memory.bytes
        scheduler.capacity = min(cacheBytes, reviewedBytes + max(0, spareBytes()))
    }

    private func compute(_ entries: [Scheduler.Entry]) {
        guard !entries.isEmpty else { return }
        let isAbandoned = { [self] in
            inbox.withLock { inbox in
                inbox.isStopped || !entries.contains { inbox.underWay.contains($0.id) }
            }
        }
        var step = Step()
        step.isAbandoned = isAbandoned
        for entry in entries {
            let sequence = sequences[entry.id]!
            step.append(
                sequence.enter(entry.tokens), to: sequence.state, output: .tail(entry.outputs),
                isAnswer: entry.isAnswer,
                adapters: sequence.adapters)
        }
        let started = ContinuousClock.now
        let logits = network.forward(step, on: compute)
        // Those whose step it was are all cancelled: what it left behind goes with them.
        if isAbandoned() { return }
        do throws(ModelFileError) { try checkIntact() } catch {
            for (id, sequence) in sequences {
                sequence.continuation.finish(throwing: error)
                end(id)
            }
            return
        }
        if step.tokens.count - step.answerRows >= pageTokens {
            secondsOfRow = (.now - started) / .seconds(1) / Double(step.tokens.count)
        }
        if entries.count == 1, entries[0].isAnswer {
            rowCost.learn(rows: entries[0].tokens.count, seconds: (.now - started) / .seconds(1))
        }
        let outcomes = sample(entries, logits)
        for (entry, outcome) in zip(entries, outcomes) {
            let sequence = sequences[entry.id]!
            do throws(LocalModelError) {
                let outcome = try outcome.get()
                if entry.outputs > 0 { sequence.keepSampled() }
                sequence.share(with: &prefixes)
                if outcome.isDone {
                    end(entry.id)
                } else if entry.outputs > 0 {
                    scheduler.extend(
                        entry.id, by: outcome.sampled, remembered: sequence.state.count, drafted: outcome.drafted)
                }
            } catch {
                sequence.continuation.finish(throwing: error)
                end(entry.id)
            }
        }
    }

    /// Lets the sequences of a step sample, side by side: over a large vocabulary, under a constraint that wants a mask, one
    /// takes up to a millisecond.
    private func sample(
        _ entries: [Scheduler.Entry], _ logits: Matrix
    ) -> [Result<Sequence.Outcome, LocalModelError>] {
        let work = entries.reduce(into: [(sequence: Sequence, rows: Range<Int>)]()) {
            let row = $0.last?.rows.upperBound ?? 0
            $0.append((sequences[$1.id]!, row..<row + $1.outputs))
        }
        let costOfRow = sequences.count == 1 ? rowCost.ofRow : nil
        var outcomes = work.map { _ in Result<Sequence.Outcome, LocalModelError>.success(.init(isDone: false)) }
        outcomes.withUnsafeMutableBufferPointer { outcomes in
            compute.pool.forEach(work.count) { index, _ in
                let (sequence, rows) = work[index]
                sequence.reportProgress()
                guard !rows.isEmpty else { return }
                let logits = logits[rows: rows.lowerBound, count: rows.count]
                guard (0..<rows.count).allSatisfy({ logits.isFinite($0) }) else {
                    outcomes[index] = .failure(.resultNotFinite(model: name, input: nil))
                    return
                }
                outcomes[index] = Result { () throws(LocalModelError) in
                    try sequence.sample(logits, costOfRow: costOfRow)
                }
            }
        }
        return outcomes
    }

    private func end(_ id: Scheduler.ID) {
        scheduler.remove(id)
        sequences.removeValue(forKey: id)?.continuation.finish()
        inbox.withLock { $0.underWay.remove(id) }
    }

    private func shutDown() {
        for sequence in sequences.values { sequence.continuation.finish(throwing: LocalModelError.shutDown) }
        while let reading = readings.next() { reading(nil) }
        sequences = [:]
        compute.pool.stop()
    }
}
