package import Networks
package import Compute
import Foundation
import KernelFormats
import Synchronization
package import Tokenizer

/// Runs a model on a thread of its own. Requests arrive through an inbox; their text is streamed back.
///
/// `@unchecked Sendable`: only the engine's thread touches anything but the inbox.
package final class ModelThread: @unchecked Sendable {
    private enum InboxMessage {
        case generate(Scheduler.ID, Request, AsyncThrowingStream<GenerationPiece, any Error>.Continuation)
        /// What was found on disk of a prompt.
        case found(Scheduler.ID, PrefixDisk.Found?)
        case cancel(Scheduler.ID)
        /// Other work to run between two steps.
        case perform(Reading, client: String)
        case stop
    }

    /// Called with `nil` if the engine stops before running it.
    private typealias Reading = @Sendable ((network: any Network, compute: Compute)?) -> Void

    private struct Inbox {
        var messages: [InboxMessage] = []
        var nextID = 0
        /// Requests that have not ended.
        var underWay: Admission
        var activity = ModelActivity()
        var isStopped = false
    }

    package static let concurrency = 64

    private let inbox: Mutex<Inbox>
    private let arrival = DispatchSemaphore(value: 0)
    private let network: any Network
    private let compute: Compute
    private let tokenizer: TextTokenizer?
    private let drafter: Drafter?
    private let queueLimit: Int
    private let checkIntact: @Sendable () throws -> Void
    private let spareBytes: @Sendable () -> Int
    private let cacheBytes: Int
    private var scheduler: Scheduler
    private var shares = TimeShares()
    private var sequences: [Scheduler.ID: Sequence] = [:]
    private let sampling: StepSampling
    /// Counts the bytes of all states of this engine.
    private let memory = StateMemory()
    private(set) var prefixes: PrefixCache
    /// Keeps prompts beyond the life of the process; `nil`: in memory only.
    private let disk: PrefixDisk?
    /// The texts of requests that named a slot.
    private var slots = Slots()
    /// Sequences whose prompts are looked up on disk; they are not scheduled yet.
    private var lookedUp: [Scheduler.ID: Request] = [:]
    /// Sizes steps with prompts.
    private var pace = StepPace()
    /// Times of decoding steps.
    private var stepCost = StepCost()
    /// Embeddings, scores and other work to run between steps.
    private var readings = FairQueue<Reading>()
    /// Whether the next step has no prompts, because a reading follows it.
    private var isReadingDue = false
    /// Bytes of states at the last check of free memory, and the earliest time of the next: reading the kernel's files takes
    /// longer than a step of a small model.
    private var reviewedBytes = 0
    private var nextReview = ContinuousClock.now

    /// - Parameters:
    ///   - cacheBytes: Maximum bytes of states: running sequences and the prefix cache.
    ///   - spareBytes: Bytes that can still be allocated now.
    ///   - queueLimit: Maximum waiting requests.
    ///   - drafter: Drafts tokens for sequences that have no other drafts.
    ///   - store: Where prompts are kept for later processes, and the key of a prompt with these adapters and this salt there.
    ///   - checkIntact: Throws if the model's file has changed, which makes results worthless.
    package init(
        network: any Network, compute: Compute, tokenizer: TextTokenizer?, drafter: Drafter? = nil, cacheBytes: Int,
        spareBytes: @escaping @Sendable () -> Int, queueLimit: Int, name: String = "the model",
        store: (files: PrefixStore, key: (AdapterSelection, _ salt: String?) -> PrefixKey?)? = nil,
        checkIntact: @escaping @Sendable () throws -> Void = {}
    ) {
        let (shape, draftShape) = (network.stateShape, drafter?.shape)
        scheduler = Scheduler(
            concurrency: Self.concurrency, capacity: cacheBytes,
            stateBytes: { shape.bytes(tokens: $0) + (draftShape?.bytes(tokens: $0) ?? 0) })
        self.drafter = drafter
        prefixes = PrefixCache(memory, makeKey: store?.key ?? { _, _ in nil })
        disk = store.map { PrefixDisk($0.files, shape, capacity: cacheBytes) }
        sampling = StepSampling(pool: compute.pool, model: name, arrival: arrival)
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

    // MARK: Called from any thread

    package func submit(_ request: Request) -> Generation {
        let (stream, continuation) = AsyncThrowingStream<GenerationPiece, any Error>.makeStream()
        let accepted = inbox.withLock { inbox -> Result<Scheduler.ID, LocalModelError> in
            guard !inbox.isStopped else { return .failure(.shutDown) }
            guard inbox.underWay.hasRoom(for: request.client, group: request.group) else {
                return .failure(.queueFull(limit: queueLimit))
            }
            inbox.nextID += 1
            inbox.underWay.insert(inbox.nextID, of: request.client, group: request.group)
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

    /// The load after the last step, and whether there is room now.
    package var activity: ModelActivity {
        inbox.withLock { inbox in
            var activity = inbox.activity
            activity.isFull = !inbox.underWay.hasRoom(for: nil)
            return activity
        }
    }

    /// Runs `body` on the engine's thread between two steps; clients take turns.
    package func perform<Result: Sendable>(_ body: @escaping @Sendable (any Network, Compute) -> Result) async throws
        -> Result
    {
        try await withCheckedThrowingContinuation { continuation in
            let reading: Reading = { [checkIntact] thread in
                if let thread {
                    let result = body(thread.network, thread.compute)
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
            let accepted = send(.perform(reading, client: FairShare.client ?? ""))
            if !accepted { continuation.resume(throwing: LocalModelError.shutDown) }
        }
    }

    /// What waits for the engine's thread beside what it runs now. Only for the body of `perform`.
    package var waiting: StepCompany {
        scheduler.isAnswering ? .answers : sequences.isEmpty && readings.isEmpty ? .nobody : .others
    }

    /// Runs `body` on the engine's thread with the slots, the prefix cache, the shape of states, and the bytes that all states
    /// may take.
    func withSlots<Result: Sendable>(
        _ body: @escaping @Sendable (inout Slots, inout PrefixCache, StateShape, _ capacity: Int) -> Result
    ) async throws -> Result {
        try await perform { [self] network, _ in body(&slots, &prefixes, network.stateShape, scheduler.capacity) }
    }

    /// Ends the thread after its current step; requests under way fail with `LocalModelError.shutDown`.
    package func stop() { send(.stop) }

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

    // MARK: Called on the engine's thread

    private func loop() {
        while true {
            // Before the step is chosen, so that a request that arrived during the last step is part of the next.
            for message in messages() {
                switch message {
                case .generate(let id, let request, let continuation): begin(id, request, continuation)
                case .found(let id, let found): schedule(id, with: found)
                case .cancel(let id): end(id)
                case .perform(let reading, let client): readings.append(reading, of: client)
                case .stop: return shutDown()
                }
            }
            collectSampled()
            let entries = nextStep()
            report()
            if entries.isEmpty, readings.isEmpty {
                arrival.wait()
                continue
            }
            compute(entries)
            // Answers wait for prompts or for a reading, not for both: the two take turns.
            isReadingDue = !isReadingDue && scheduler.isAnswering && entries.contains { !$0.isAnswer } && hasReading
            if !isReadingDue { read(isAlone: entries.isEmpty) }
        }
    }

    /// Whether a reading may run beside generation now.
    private var hasReading: Bool {
        let now = ContinuousClock.now
        return readings.hasNext { shares.mayRead($0, at: now) }
    }

    /// Runs one piece of the readings.
    private func read(isAlone: Bool) {
        let started = ContinuousClock.now
        guard let (client, reading) = readings.next(where: { isAlone || shares.mayRead($0, at: started) }) else {
            return
        }
        reading((network, compute))
        shares.account(readingOf: client, from: started, to: .now)
    }

    private func report() {
        let (counts, pageBytes) = (scheduler.counts, network.stateShape.pageBytes + (drafter?.shape.pageBytes ?? 0))
        inbox.withLock {
            $0.activity = .init(
                running: counts.running, waiting: counts.waiting + lookedUp.count,
                cachedTokens: prefixes.count * pageTokens, stateBytes: memory.bytes, cacheUse: scheduler.use,
                cacheBlocks: pageBytes > 0 ? max(0, scheduler.capacity) / pageBytes : 0)
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
        let sequence = Sequence(
            request, network, memory, tokenizer, drafter, continuation,
            side: sampling.queue(of: request.client ?? "\(request.group?.number ?? -id)"))
        sequences[id] = sequence
        guard disk != nil, lookUp(id, sequence, request) else { return schedule(id, request) }
    }

    /// Looks for the prompt on disk. - Returns: Whether it may be there.
    private func lookUp(_ id: Scheduler.ID, _ sequence: Sequence, _ request: Request) -> Bool {
        let path = sequence.progress.knownPath(request.tokens[...], in: &prefixes)
        let key = path.last.map(\.key) ?? prefixes.root(request.adapters, salt: request.options.cacheSalt).key
        disk?.touch(path)
        guard let disk, let key, sequence.progress.encoding == nil, disk.mayHave(request.tokens[...], after: path)
        else {
            return false
        }
        lookedUp[id] = request
        disk.find(
            request.tokens[...], request.media, after: key, known: path.count, client: request.client ?? "\(-id)",
            secondsOfRow: pace.secondsOfRow, bytes: scheduler.capacity / 2
        ) { [weak self] found in self?.send(.found(id, found)) }
        return true
    }

    /// Schedules a sequence whose prompt was looked up on disk.
    private func schedule(_ id: Scheduler.ID, with found: PrefixDisk.Found?) {
        guard let request = lookedUp.removeValue(forKey: id) else { return }
        if let found {
            prefixes.shrink(to: max(0, scheduler.capacity - found.bytes))
            sequences[id]?.progress.restore(found, of: request.tokens, into: &prefixes)
        }
        schedule(id, request)
    }

    private func schedule(_ id: Scheduler.ID, _ request: Request) {
        guard let sequence = sequences[id] else { return }
        // The running prefill that shares the longest prefix.
        let leader = sequences.filter { $0.key != id && !sampling.isBusy($0.key) && $0.value.isPrefilling }
            .map { (id: $0.key, tokens: sequence.sharedPrompt(with: $0.value)) }
            .max { $0.tokens < $1.tokens }
        if let leader { sequences[leader.id]?.progress.wantCheckpoint(at: leader.tokens) }
        scheduler.add(
            id, group: request.group?.number, client: request.client, promptTokens: request.tokens.count, after: leader)
    }

    private func nextStep() -> [Scheduler.Entry] {
        reviewMemory()
        for id in scheduler.preempt(sparing: { sampling.isBusy($0) }) { sequences[id]?.forget() }
        let rows = rowsOfStep
        var entries = schedule(rows)
        if entries.isEmpty, !shares.resting.isEmpty {
            shares.endRest()
            entries = schedule(rows)
        }
        makeRoom(for: entries)
        return entries
    }

    /// Maximum prompt rows of the next step.
    private var rowsOfStep: Int {
        guard sequences.count > 1 else { return StateShape.stepRows }
        if isReadingDue { return 0 }
        let isWaitedFor = scheduler.isAnswering || scheduler.isShared
        return pace.rows(beside: isWaitedFor ? .answers : .others, of: network.stateShape)
    }

    private func schedule(_ rows: Int) -> [Scheduler.Entry] {
        scheduler.nextStep(rows: rows, resting: shares.resting) {
            sequences[$0]?.start(from: &prefixes)
            return sequences[$0]?.lengths.computed ?? 0
        } pieceEnd: {
            sequences[$0]?.progress.pieceEnd($1) ?? $1.upperBound
        }
    }

    /// Evicts unused prefix pages until the step fits. They hold at most a quarter of the capacity.
    private func makeRoom(for entries: [Scheduler.Entry]) {
        let shape = network.stateShape
        let new = entries.reduce(0) { sum, entry in
            // Recurrent floats are copied after a checkpoint, which may be at any page border.
            let recurrentBytes = entry.tokens.lowerBound % pageTokens == 0 ? shape.recurrentBytes : 0
            let pageBytes = shape.pageBytes + (drafter?.shape.pageBytes ?? 0)
            return sum + (entry.tokens.count / pageTokens + 1) * pageBytes + recurrentBytes
        }
        let used = sequences.values.reduce(0) {
            $0 + $1.progress.state.bytes + ($1.drafts.progress?.state.bytes ?? 0)
        }
        let room = max(0, min(scheduler.capacity - new, scheduler.capacity / 4 + used))
        // Evict more than needed, so that it does not happen in every step.
        if memory.bytes > room { prefixes.shrink(to: room - room / 16) }
    }

    /// Updates the capacity: other programs may have taken memory since the model was loaded.
    private func reviewMemory() {
        guard memory.bytes != reviewedBytes, .now >= nextReview else { return }
        reviewedBytes = memory.bytes
        nextReview = .now + .milliseconds(100)
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
                sequence.enter(entry.tokens), to: sequence.progress.state, output: .tail(entry.outputs),
                isAnswer: entry.isAnswer, adapters: sequence.progress.adapters)
        }
        step.wanted = wantedLogits(of: entries)
        let started = ContinuousClock.now
        // The masks of the choices after this step depend on no logits: they are computed beside it.
        for entry in entries where entry.outputs > 0 { sequences[entry.id]!.beginMask() }
        let logits = network.forward(step, on: compute)
        let ended = ContinuousClock.now
        // All sequences of the step were cancelled: discard its results.
        if isAbandoned() { return }
        do { try checkIntact() } catch {
            for (id, sequence) in sequences {
                sequence.answer.continuation.finish(throwing: error)
                end(id)
            }
            return
        }
        if step.tokens.count - step.answerRows >= StepPace.leastRows {
            pace.learn(rows: step.tokens.count, seconds: (ended - started) / .seconds(1))
        }
        if step.answerRows == step.tokens.count {
            stepCost.learn(rows: step.tokens.count, seconds: (ended - started) / .seconds(1))
        }
        if let drafter, let states = network.lastStates {
            drafter.keep(states, of: step, entries.map { sequences[$0.id]! }, on: compute)
        }
        let room = draftRoom(after: entries)
        var row = 0
        let work = entries.map { entry in
            defer { row += entry.outputs }
            return StepSampling.Work(
                id: entry.id, sequence: sequences[entry.id]!, logits: logits[rows: row, count: entry.outputs])
        }
        let outcomes = sampling.sample(work, room: room, cost: stepCost, seconds: (ended - started) / .seconds(1))
        account(entries, started: started, ended: ended)
        settle(
            zip(entries, outcomes).compactMap { entry, outcome in
                outcome.map { (id: entry.id, hasSampled: entry.outputs > 0, outcome: $0) }
            }, room)
    }

    /// The logits that the step's sequences need; empty: all of them.
    private func wantedLogits(of entries: [Scheduler.Entry]) -> [BestOutputs] {
        var wanted: [BestOutputs] = []
        for entry in entries where entry.outputs > 0 {
            guard let one = sequences[entry.id]!.answer.wanted else { return [] }
            wanted += Array(repeating: one, count: entry.outputs)
        }
        return wanted
    }

    /// Ends or continues sequences after a step's sampling.
    private func settle(
        _ outcomes: [(id: Scheduler.ID, hasSampled: Bool, outcome: StepSampling.Outcome)], _ room: DraftRoom?
    ) {
        disk?.release()
        var going: [(id: Scheduler.ID, sequence: Sequence)] = []
        for (id, hasSampled, outcome) in outcomes {
            let sequence = sequences[id]!
            do throws(LocalModelError) {
                let isDone = try outcome.get()
                if hasSampled { sequence.rollBackRejected() }
                if sequence.share(with: &prefixes) { disk?.keep(sequence.progress.path) }
                if isDone {
                    sequence.progress.handOver()
                    end(id)
                } else if hasSampled {
                    going.append((id, sequence))
                }
            } catch {
                sequence.answer.continuation.finish(throwing: error)
                end(id)
            }
        }
        if let drafter, let room {
            drafter.draft(
                for: going.map(\.sequence).filter(\.drafts.tokens.isEmpty), room: room, cost: stepCost, on: compute)
        }
        for (id, sequence) in going { scheduler.update(id, to: sequence.lengths) }
    }

    /// Continues the sequences that have sampled on side threads since.
    private func collectSampled() {
        let outcomes = sampling.takeSampled()
        guard !outcomes.isEmpty else { return }
        settle(outcomes.map { (id: $0, hasSampled: true, outcome: $1) }, draftRoom(after: []))
    }

    /// The room of an answer for drafts in the step after that of `entries`, whose sequences have not sampled yet; `nil` if a
    /// prompt needs the rows.
    private func draftRoom(after entries: [Scheduler.Entry]) -> DraftRoom? {
        let answers = Set(entries.lazy.filter { $0.outputs > 0 }.map(\.id))
        let isPrefilling = sequences.contains {
            !answers.contains($0.key) && !sampling.isBusy($0.key) && lookedUp[$0.key] == nil && $0.value.isPrefilling
        }
        return isPrefilling ? nil : DraftRoom(answers: sequences.count)
    }

    /// Accounts for a step: the time until `ended` by rows, the time since then by what each sequence took for sampling.
    private func account(
        _ entries: [Scheduler.Entry], started: ContinuousClock.Instant, ended: ContinuousClock.Instant
    ) {
        let rows = entries.reduce(0) { $0 + $1.tokens.count }
        let secondsPerRow = (ended - started) / .seconds(1) / Double(rows)
        // A sequence on a side thread holds up no other: it pays by sitting out.
        let seconds = entries.map { sampling.isBusy($0.id) ? 0 : sequences[$0.id]!.takeStepSeconds() }
        let total = seconds.reduce(0, +)
        let share = total > 0 ? (.now - ended) / .seconds(1) / total : 0
        var costs: [String: Double] = [:]
        for (entry, seconds) in zip(entries, seconds) {
            costs[scheduler.client(of: entry.id) ?? "", default: 0] +=
                Double(entry.tokens.count) * secondsPerRow + seconds * share
        }
        shares.account(costs)
    }

    private func end(_ id: Scheduler.ID) {
        scheduler.remove(id)
        lookedUp[id] = nil
        if let sequence = sequences.removeValue(forKey: id) {
            // The tokens of one that still samples on a side thread are in use.
            if let slot = sequence.slot, !sampling.isBusy(id) { slots.put(sequence.text, into: slot) }
            sequence.answer.continuation.finish()
            sampling.abandon(id, sequence)
        }
        inbox.withLock { $0.underWay.remove(id) }
    }

    private func shutDown() {
        for sequence in sequences.values { sequence.answer.continuation.finish(throwing: LocalModelError.shutDown) }
        while let (_, reading) = readings.next() { reading(nil) }
        for (id, sequence) in sequences { sampling.abandon(id, sequence) }
        sequences = [:]
        compute.pool.stop()
        sampling.stop()
        disk?.stop()
    }
}
