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
    package struct Request: Sendable {
        let tokens: [Int32]
        /// Input of the encoder in an encoder-decoder; `tokens` are then the decoder's.
        var encoding: [Int32]?
        /// Images of the prompt; their rows have negative token IDs.
        var images: SequenceImages?
        let chain: Sampler.Chain
        let options: SamplingOptions
        var adapters = AdapterSelection.none
        var group: GenerationGroup?
        /// Maximum tokens to generate: the option's limit, or what the context leaves.
        let maximumTokens: Int
        /// Client for fair scheduling; `nil`: the request is a client of its own.
        var client = FairShare.client
        /// Proposes tokens to follow all tokens so far. They are verified in one step; the text is the same as without.
        var draft: (@Sendable (_ tokens: [Int32]) -> [Int32])?

        package init(
            tokens: [Int32], encoding: [Int32]? = nil, images: SequenceImages? = nil, chain: Sampler.Chain,
            options: SamplingOptions, adapters: AdapterSelection = .none, group: GenerationGroup? = nil,
            maximumTokens: Int, client: String? = FairShare.client,
            draft: (@Sendable (_ tokens: [Int32]) -> [Int32])? = nil
        ) {
            self.tokens = tokens
            self.encoding = encoding
            self.images = images
            self.chain = chain
            self.options = options
            self.adapters = adapters
            self.group = group
            self.maximumTokens = maximumTokens
            self.client = client
            self.draft = draft
        }

    }

    private enum InboxMessage {
        case generate(Scheduler.ID, Request, AsyncThrowingStream<GenerationPiece, any Error>.Continuation)
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

    /// Target duration of a step with prefill beside other sequences, which wait for it, as do requests that arrive.
    private static let secondsOfStep = 0.02
    /// The same while several clients have running sequences.
    private static let secondsOfSharedStep = 0.01
    /// Minimum rows of such a step, with answers and without: fewer would read the weights too often.
    private static let leastRows = (beside: pageTokens, alone: 128)
    package static let concurrency = 64

    /// What sequences sampled on side threads.
    private final class Mailbox: Sendable {
        struct Contents {
            var outcomes: [(id: Scheduler.ID, outcome: Result<Sequence.Outcome, LocalModelError>)] = []
            /// Whether the engine's thread waits for an outcome, in the middle of its loop.
            var isAwaited = false
        }
        let contents = Mutex(Contents())
        let arrival = DispatchSemaphore(value: 0)
    }

    /// Maximum time for which a step waits for sequences that sample on side threads, and the part of the step's own time
    /// from which on it does. Longer work makes a sequence sit out steps.
    private static let sideSeconds = (least: 0.002, most: 0.02, part: 0.25)

    private let inbox: Mutex<Inbox>
    private let arrival = DispatchSemaphore(value: 0)
    /// The model's name, for error messages.
    private let name: String
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
    /// Sequences that sample on a side thread, with the tokens that their last step gave them; they have no rows meanwhile.
    private var sampling: [Scheduler.ID: Sequence] = [:]
    /// Ended sequences on which a side thread still works.
    private var leaving: [Sequence] = []
    private let sideThreads = SideThreads()
    private let sampled = Mailbox()
    /// Counts the bytes of all states of this engine.
    private let memory = StateMemory()
    private(set) var prefixes: PrefixCache
    /// Seconds per prompt row in recent steps; sizes the next step.
    private var secondsOfRow = 0.0
    /// Times of decoding steps.
    private var stepCost = StepCost()
    /// Embeddings, scores and other work to run between steps.
    private var readings = FairQueue<Reading>()
    /// Clients whose readings wait, and until when, so that generation gets three times as much time as all readings together.
    private var readingRests: [String: ContinuousClock.Instant] = [:]
    /// Bytes of states at the last check of free memory, and the earliest time of the next: reading the kernel's files takes
    /// longer than a step of a small model.
    private var reviewedBytes = 0
    private var nextReview = ContinuousClock.now

    /// - Parameters:
    ///   - cacheBytes: Maximum bytes of states: running sequences and the prefix cache.
    ///   - spareBytes: Bytes that can still be allocated now.
    ///   - queueLimit: Maximum waiting requests.
    ///   - drafter: Drafts tokens for sequences that have no other drafts.
    ///   - checkIntact: Throws if the model's file has changed, which makes results worthless.
    package init(
        network: any Network, compute: Compute, tokenizer: TextTokenizer?, drafter: Drafter? = nil, cacheBytes: Int,
        spareBytes: @escaping @Sendable () -> Int, queueLimit: Int, name: String = "the model",
        checkIntact: @escaping @Sendable () throws -> Void = {}
    ) {
        let (shape, draftShape) = (network.stateShape, drafter?.shape)
        scheduler = Scheduler(
            concurrency: Self.concurrency, capacity: cacheBytes,
            stateBytes: { shape.bytes(tokens: $0) + (draftShape?.bytes(tokens: $0) ?? 0) })
        self.drafter = drafter
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

    /// Counts of running and waiting requests, and cached tokens.
    package var activity: ModelActivity { inbox.withLock { $0.activity } }

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
            read(isAlone: entries.isEmpty)
        }
    }

    /// Runs one piece of the readings.
    private func read(isAlone: Bool) {
        let started = ContinuousClock.now
        readingRests = readingRests.filter { $0.value > started }
        guard let (client, reading) = readings.next(where: { isAlone || readingRests[$0] == nil }) else { return }
        reading((network, compute))
        let ended = ContinuousClock.now
        readingRests[client] = ended + (ended - started) * 3 * (readingRests.count + 1)
    }

    private func report() {
        let counts = scheduler.counts
        inbox.withLock {
            $0.activity = .init(
                running: counts.running, waiting: counts.waiting, cachedTokens: prefixes.count * pageTokens,
                stateBytes: memory.bytes)
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
            side: SideThreads.Queue(sideThreads, client: request.client ?? "\(request.group?.number ?? -id)"))
        // The running prefill that shares the longest prefix.
        let leader = sequences.filter { sampling[$0.key] == nil && $0.value.isPrefilling }
            .map { (id: $0.key, tokens: sequence.sharedPrompt(with: $0.value)) }
            .max { $0.tokens < $1.tokens }
        if let leader { sequences[leader.id]?.wantCheckpoint(at: leader.tokens) }
        sequences[id] = sequence
        scheduler.add(
            id, group: request.group?.number, client: request.client, promptTokens: request.tokens.count, after: leader)
    }

    private func nextStep() -> [Scheduler.Entry] {
        reviewMemory()
        for id in scheduler.preempt(sparing: { sampling[$0] != nil }) { sequences[id]?.forget() }
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
        guard sequences.count > 1, secondsOfRow > 0 else { return StateShape.stepRows }
        let least = scheduler.isAnswering || scheduler.isShared ? Self.leastRows.beside : Self.leastRows.alone
        let seconds = scheduler.isShared ? Self.secondsOfSharedStep : Self.secondsOfStep
        return min(StateShape.stepRows, max(least, Int(seconds / secondsOfRow) / pageTokens * pageTokens))
    }

    private func schedule(_ rows: Int) -> [Scheduler.Entry] {
        scheduler.nextStep(rows: rows, resting: shares.resting) {
            sequences[$0]?.start(from: &prefixes) ?? 0
        } pieceEnd: {
            sequences[$0]?.pieceEnd($1) ?? $1.upperBound
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
        let used = sequences.values.reduce(0) { $0 + $1.state.bytes + ($1.drafting?.state.bytes ?? 0) }
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
                sequence.enter(entry.tokens), to: sequence.state, output: .tail(entry.outputs),
                isAnswer: entry.isAnswer,
                adapters: sequence.adapters)
        }
        let started = ContinuousClock.now
        // The masks of the choices after this step depend on no logits: they are computed beside it.
        for entry in entries where entry.outputs > 0 { sequences[entry.id]!.beginMask() }
        let logits = network.forward(step, on: compute)
        let ended = ContinuousClock.now
        // All sequences of the step were cancelled: discard its results.
        if isAbandoned() { return }
        do { try checkIntact() } catch {
            for (id, sequence) in sequences {
                sequence.continuation.finish(throwing: error)
                end(id)
            }
            return
        }
        if step.tokens.count - step.answerRows >= pageTokens {
            secondsOfRow = (ended - started) / .seconds(1) / Double(step.tokens.count)
        }
        if step.answerRows == step.tokens.count {
            stepCost.learn(rows: step.tokens.count, seconds: (ended - started) / .seconds(1))
        }
        if let drafter, let states = network.lastStates {
            drafter.keep(states, of: step, entries.map { sequences[$0.id]! }, on: compute)
        }
        let room = draftRoom(after: entries)
        let outcomes = sample(entries, logits, room, seconds: (ended - started) / .seconds(1))
        account(entries, started: started, ended: ended)
        settle(
            zip(entries, outcomes).compactMap { entry, outcome in
                outcome.map { (id: entry.id, hasSampled: entry.outputs > 0, outcome: $0) }
            }, room)
    }

    /// Ends or continues sequences after a step's sampling.
    private func settle(
        _ outcomes: [(id: Scheduler.ID, hasSampled: Bool, outcome: Result<Sequence.Outcome, LocalModelError>)],
        _ room: DraftRoom?
    ) {
        var going: [(id: Scheduler.ID, sequence: Sequence, sampled: Int)] = []
        for (id, hasSampled, outcome) in outcomes {
            let sequence = sequences[id]!
            do throws(LocalModelError) {
                let outcome = try outcome.get()
                if hasSampled { sequence.rollBackRejected() }
                sequence.share(with: &prefixes)
                if outcome.isDone {
                    end(id)
                } else if hasSampled {
                    going.append((id, sequence, outcome.sampled))
                }
            } catch {
                sequence.continuation.finish(throwing: error)
                end(id)
            }
        }
        if let drafter, let room {
            drafter.draft(
                for: going.map(\.sequence).filter { $0.draftedCount == 0 }, room: room, cost: stepCost, on: compute)
        }
        for (id, sequence, sampled) in going {
            scheduler.extend(id, by: sampled, remembered: sequence.state.count, drafted: sequence.draftedCount)
        }
    }

    /// Continues the sequences that have sampled on side threads since.
    private func collectSampled() {
        leaving.removeAll { !$0.side.isBusy }
        let outcomes = takeSampled()
        guard !outcomes.isEmpty else { return }
        settle(outcomes.map { (id: $0, hasSampled: true, outcome: $1) }, draftRoom(after: []))
    }

    private func takeSampled() -> [(Scheduler.ID, Result<Sequence.Outcome, LocalModelError>)] {
        guard !sampling.isEmpty else { return [] }
        let outcomes = sampled.contents.withLock { exchange(&$0.outcomes, with: []) }
        return outcomes.compactMap { id, outcome in
            guard let sequence = sampling.removeValue(forKey: id) else { return nil }
            sequence.wasLate = sequence.secondsBeside > Self.sideSeconds.least
            return (id, outcome)
        }
    }

    /// Lets the sequences of a step sample in parallel: over a large vocabulary it takes up to a millisecond each.
    ///
    /// Those with a constraint sample on side threads, since nobody knows how long its next mask takes.
    ///
    /// - Parameter seconds: Duration of the step.
    /// - Returns: `nil` for sequences that are not ready; see `collectSampled`.
    private func sample(
        _ entries: [Scheduler.Entry], _ logits: Matrix, _ room: DraftRoom?, seconds: Double
    ) -> [Result<Sequence.Outcome, LocalModelError>?] {
        var row = 0
        let work = entries.map { entry in
            defer { row += entry.outputs }
            return (id: entry.id, sequence: sequences[entry.id]!, logits: logits[rows: row, count: entry.outputs])
        }
        let beside = work.filter { $0.logits.rows > 0 && $0.sequence.isConstrained }
        for (id, sequence, _) in beside { sampling[id] = sequence }
        let (mailbox, loop, cost) = (sampled, arrival, stepCost)
        if !beside.isEmpty { mailbox.contents.withLock { $0.isAwaited = true } }
        var outcomes: [Result<Sequence.Outcome, LocalModelError>?] = work.map { _ in .success(.init(isDone: false)) }
        outcomes.withUnsafeMutableBufferPointer { outcomes in
            compute.pool.forEach(work.count) { index, _ in
                let (id, sequence, logits) = work[index]
                sequence.reportProgress()
                guard logits.rows > 0 else { return }
                let isFinite = (0..<logits.rows).allSatisfy { logits.isFinite($0) }
                let failure = LocalModelError.resultNotFinite(model: name, input: nil)
                if !sequence.isConstrained {
                    outcomes[index] =
                        isFinite
                        ? Result { () throws(LocalModelError) in try sequence.sample(logits, room: room, cost: cost) }
                        : .failure(failure)
                    return
                }
                outcomes[index] = nil
                sequence.sampleBeside(isFinite ? logits : nil, failure, room: room, cost: cost) { outcome in
                    let isAwaited = mailbox.contents.withLock { contents in
                        contents.outcomes.append((id, outcome))
                        return contents.isAwaited
                    }
                    (isAwaited ? mailbox.arrival : loop).signal()
                }
            }
        }
        guard !beside.isEmpty else { return outcomes }
        let limit = min(max(seconds * Self.sideSeconds.part, Self.sideSeconds.least), Self.sideSeconds.most)
        let ready = awaitSampled(of: Set(beside.map(\.id)), until: .now() + limit)
        for (index, sequence) in work.enumerated() { outcomes[index] = ready[sequence.id] ?? outcomes[index] }
        return outcomes
    }

    /// Waits for sequences that sample on side threads, except those that were late the last time.
    ///
    /// - Returns: The outcomes so far, also those of sequences that were not waited for.
    private func awaitSampled(
        of ids: Set<Scheduler.ID>, until deadline: DispatchTime
    ) -> [Scheduler.ID: Result<Sequence.Outcome, LocalModelError>] {
        defer {
            sampled.contents.withLock { $0.isAwaited = false }
            while sampled.arrival.wait(timeout: .now()) == .success {}
            // Outcomes that came since the last look, and those of earlier steps, are collected by the loop.
            if !sampling.isEmpty { arrival.signal() }
        }
        var outcomes: [Scheduler.ID: Result<Sequence.Outcome, LocalModelError>] = [:]
        while true {
            let new = sampled.contents.withLock { contents in
                let new = contents.outcomes.filter { ids.contains($0.id) }
                contents.outcomes.removeAll { ids.contains($0.id) }
                return new
            }
            for (id, outcome) in new {
                outcomes[id] = outcome
                sampling[id]?.wasLate = false
                sampling[id] = nil
            }
            guard ids.contains(where: { sampling[$0]?.wasLate == false }) else { break }
            if sampled.arrival.wait(timeout: deadline) == .timedOut { break }
        }
        for id in ids {
            sampling[id]?.wasLate = true
            sampling[id]?.side.lower()
        }
        return outcomes
    }

    /// The room of an answer for drafts in the step after that of `entries`, whose sequences have not sampled yet; `nil` if a
    /// prompt needs the rows.
    private func draftRoom(after entries: [Scheduler.Entry]) -> DraftRoom? {
        let answers = Set(entries.lazy.filter { $0.outputs > 0 }.map(\.id))
        let isPrefilling = sequences.contains {
            !answers.contains($0.key) && sampling[$0.key] == nil && $0.value.isPrefilling
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
        let sampling = entries.map { self.sampling[$0.id] == nil ? sequences[$0.id]!.takeStepSeconds() : 0 }
        let total = sampling.reduce(0, +)
        let share = total > 0 ? (.now - ended) / .seconds(1) / total : 0
        var costs: [String: Double] = [:]
        for (entry, seconds) in zip(entries, sampling) {
            costs[scheduler.client(of: entry.id) ?? "", default: 0] +=
                Double(entry.tokens.count) * secondsPerRow + seconds * share
        }
        shares.account(costs)
    }

    private func end(_ id: Scheduler.ID) {
        scheduler.remove(id)
        sampling[id] = nil
        if let sequence = sequences.removeValue(forKey: id) {
            sequence.continuation.finish()
            if sequence.side.isBusy {
                sequence.abandon()
                leaving.append(sequence)
            }
        }
        inbox.withLock { $0.underWay.remove(id) }
    }

    private func shutDown() {
        for sequence in sequences.values { sequence.continuation.finish(throwing: LocalModelError.shutDown) }
        while let (_, reading) = readings.next() { reading(nil) }
        for sequence in sequences.values { sequence.abandon() }
        leaving += sequences.values
        sequences = [:]
        sampling = [:]
        compute.pool.stop()
        sideThreads.stop()
        while leaving.contains(where: \.side.isBusy) { usleep(10_000) }
        leaving = []
    }
}
