import Compute
import Foundation
import Synchronization

/// Lets the sequences of a step sample: in parallel, as over a large vocabulary it takes up to a millisecond each. Those with a
/// constraint sample on side threads, since nobody knows how long its next mask takes, and sit out steps if it takes long.
///
/// Only the engine's thread uses it.
final class StepSampling {
    typealias Sequence = ModelThread.Sequence

    /// A sequence of a step, and its logits: none if its prompt is not finished.
    struct Work {
        let id: Scheduler.ID
        let sequence: Sequence
        let logits: Matrix
    }

    /// Whether a sequence has ended, or why it failed.
    typealias Outcome = Result<Bool, LocalModelError>

    /// Outcomes of sampling on side threads.
    private final class Mailbox: Sendable {
        struct Contents {
            var outcomes: [(id: Scheduler.ID, outcome: Outcome)] = []
            /// Whether the engine's thread waits for an outcome, in the middle of its loop.
            var isAwaited = false
        }
        let contents = Mutex(Contents())
        let arrival = DispatchSemaphore(value: 0)
    }

    /// Maximum time for which a step waits for sequences that sample on side threads, and the part of the step's own time
    /// from which on it does. Longer work makes a sequence sit out steps.
    private static let sideSeconds = (least: 0.002, most: 0.02, part: 0.25)

    private let pool: ThreadPool
    /// The model's name, for error messages.
    private let model: String
    /// Wakes the engine's thread between two steps.
    private let arrival: DispatchSemaphore
    private let threads = FairThreads(
        name: "constraints", limit: ModelThread.concurrency, clientLimit: ModelThread.concurrency / 4)
    private let mailbox = Mailbox()
    /// Sequences that sample on a side thread; they have no rows meanwhile.
    private var sampling: [Scheduler.ID: Sequence] = [:]
    /// Ended sequences on which a side thread still works.
    private var leaving: [Sequence] = []

    init(pool: ThreadPool, model: String, arrival: DispatchSemaphore) {
        (self.pool, self.model, self.arrival) = (pool, model, arrival)
    }

    /// A queue for the side work of one sequence.
    func queue(of client: String) -> SideQueue { SideQueue(threads, client: client) }

    /// Whether a side thread samples for the sequence, which nothing else may use meanwhile.
    func isBusy(_ id: Scheduler.ID) -> Bool { sampling[id] != nil }

    /// Lets go of a sequence that has ended, or of which nobody wants the answer any more.
    func abandon(_ id: Scheduler.ID, _ sequence: Sequence) {
        sampling[id] = nil
        guard sequence.side.isBusy else { return }
        sequence.answer.abandon()
        leaving.append(sequence)
    }

    /// Waits for the work on abandoned sequences, and ends the side threads.
    func stop() {
        threads.stop()
        while leaving.contains(where: \.side.isBusy) { usleep(10_000) }
        leaving = []
    }

    /// Samples.
    ///
    /// - Parameter seconds: Duration of the step.
    /// - Returns: By `work`; `nil` for sequences that are not ready: see `takeSampled`.
    func sample(_ work: [Work], room: DraftRoom?, cost: StepCost, seconds: Double) -> [Outcome?] {
        let beside = work.filter { $0.logits.rows > 0 && $0.sequence.answer.isConstrained }
        for work in beside { sampling[work.id] = work.sequence }
        if !beside.isEmpty { mailbox.contents.withLock { $0.isAwaited = true } }
        var outcomes: [Outcome?] = work.map { _ in .success(false) }
        outcomes.withUnsafeMutableBufferPointer { outcomes in
            pool.forEach(work.count) { index, _ in outcomes[index] = sample(work[index], room: room, cost: cost) }
        }
        guard !beside.isEmpty else { return outcomes }
        let limit = min(max(seconds * Self.sideSeconds.part, Self.sideSeconds.least), Self.sideSeconds.most)
        let ready = awaitSampled(of: Set(beside.map(\.id)), until: .now() + limit)
        for (index, work) in work.enumerated() { outcomes[index] = ready[work.id] ?? outcomes[index] }
        return outcomes
    }

    /// Samples for one sequence, or begins to on a side thread. Runs beside the others.
    private func sample(_ work: Work, room: DraftRoom?, cost: StepCost) -> Outcome? {
        let (sequence, logits) = (work.sequence, work.logits)
        sequence.answer.reportProgress(sequence.lengths, cached: sequence.progress.cachedTokens ?? 0)
        guard logits.rows > 0 else { return .success(false) }
        let isFinite = (0..<logits.rows).allSatisfy { logits.isFinite($0) }
        let failure = LocalModelError.resultNotFinite(model: model, input: nil)
        guard sequence.answer.isConstrained else {
            guard isFinite else { return .failure(failure) }
            return Result { () throws(LocalModelError) in try sequence.sample(logits, room: room, cost: cost) }
        }
        let (id, mailbox, arrival) = (work.id, mailbox, arrival)
        sequence.sampleBeside(isFinite ? logits : nil, failure, room: room, cost: cost) { outcome in
            let isAwaited = mailbox.contents.withLock { contents in
                contents.outcomes.append((id, outcome))
                return contents.isAwaited
            }
            (isAwaited ? mailbox.arrival : arrival).signal()
        }
        return nil
    }

    /// Outcomes of sequences that were not ready in time.
    func takeSampled() -> [(id: Scheduler.ID, outcome: Outcome)] {
        leaving.removeAll { !$0.side.isBusy }
        guard !sampling.isEmpty else { return [] }
        return mailbox.contents.withLock { exchange(&$0.outcomes, with: []) }.filter { id, _ in
            guard let sequence = sampling.removeValue(forKey: id) else { return false }
            sequence.wasLate = sequence.secondsBeside > Self.sideSeconds.least
            return true
        }
    }

    /// Waits for sequences that sample on side threads, except those that were late the last time.
    ///
    /// - Returns: The outcomes so far, also those of sequences that were not waited for.
    private func awaitSampled(of ids: Set<Scheduler.ID>, until deadline: DispatchTime) -> [Scheduler.ID: Outcome] {
        defer {
            mailbox.contents.withLock { $0.isAwaited = false }
            while mailbox.arrival.wait(timeout: .now()) == .success {}
            // Outcomes that came since the last look, and those of earlier steps, are taken between the steps.
            if !sampling.isEmpty { arrival.signal() }
        }
        var outcomes: [Scheduler.ID: Outcome] = [:]
        while true {
            let new = mailbox.contents.withLock { contents in
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
            if mailbox.arrival.wait(timeout: deadline) == .timedOut { break }
        }
        for id in ids {
            sampling[id]?.wasLate = true
            sampling[id]?.side.lower()
        }
        return outcomes
    }
}
