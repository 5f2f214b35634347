package import Compute
import Foundation
import KernelFormats
package import Networks
import Synchronization

/// The state of a sequence whose generation has ended.
///
/// `@unchecked Sendable`: only the engine's thread uses the state, and has to let go of it, since it counts the memory.
package final class FinalState: @unchecked Sendable {
    var state: SequenceState?

    package init() {}

    package func release() { state = nil }
}

/// Computes how likely texts follow a prompt: many branches of one prompt, each with many continuations, in steps
/// whose size `StepPace` chooses. What the branches have in common is computed once.
///
/// The probabilities are the model's own, as those of `TokenLogprob`.
///
/// `@unchecked Sendable`: used by the engine's thread while it reads, by the caller before and after; `isCancelled` is
/// atomic.
package final class ContinuationReading: @unchecked Sendable {
    /// Text after the prompt, and what may follow it.
    package struct Branch: Sendable {
        /// At least one.
        package let tokens: [Int32]
        /// The images of the prompt and the branch.
        let media: SequenceMedia?
        /// Each has at least one token.
        package let continuations: [[Int32]]

        package init(tokens: [Int32], media: SequenceMedia?, continuations: [[Int32]]) {
            (self.tokens, self.media, self.continuations) = (tokens, media, continuations)
        }
    }

    /// A branch that was computed, with continuations of several tokens of which all but the first are to be computed.
    private struct Open {
        let branch: Int
        let state: SequenceState
        var left: ArraySlice<Int>
    }

    private let prompt: FinalState
    private let branches: [Branch]
    private let adapters: AdapterSelection
    /// The model's name, for error messages.
    private let model: String
    private let isCancelled = Atomic<Bool>(false)

    /// The next branch to compute, how many of its tokens were, and its state if some were.
    private var (next, done) = (0, 0)
    private var state: SequenceState?
    private var open: [Open] = []
    private var results: [[Double]]
    private var pace = StepPace()
    /// Maximum bytes of recurrent state that a step copies.
    private static let copiedBytes = 256 << 20

    package init(after prompt: FinalState, _ branches: [Branch], adapters: AdapterSelection, model: String) {
        (self.prompt, self.branches, self.adapters, self.model) = (prompt, branches, adapters, model)
        results = branches.map { Array(repeating: 0, count: $0.continuations.count) }
    }

    package func cancel() { isCancelled.store(true, ordering: .relaxed) }

    /// Computes a step.
    ///
    /// - Parameter company: Who waits. Beside nobody branches are read in steps as large as those of a lone prompt.
    /// - Returns: Whether anything is left.
    package func readStep(_ network: any Network, _ compute: Compute, beside company: StepCompany) -> Bool {
        guard let start = prompt.state, !isDone else { return false }
        var step = Step()
        step.isAbandoned = { [self] in isCancelled.load(ordering: .relaxed) }
        let most = max(1, Self.copiedBytes / max(1, start.shape.recurrentBytes))
        let rows = pace.rows(beside: company, of: start.shape)
        let reads =
            open.isEmpty
            ? addBranches(to: &step, after: start, rows: company == .nobody ? StateShape.stepRows : rows, most)
            : addContinuations(to: &step, rows: rows, most)
        let started = ContinuousClock.now
        let logits = network.forward(step, on: compute)
        pace.learn(rows: step.tokens.count, seconds: (.now - started) / .seconds(1))
        guard !isCancelled.load(ordering: .relaxed) else { return false }
        collect(reads, logits, compute)
        return !isDone
    }

    /// - Returns: The log probability of each continuation, by branch.
    /// - Throws: `resultNotFinite`; `shutDown` if the prompt was not computed.
    package func finish() throws -> [[Double]] {
        guard !isCancelled.load(ordering: .relaxed) else { throw CancellationError() }
        guard prompt.state != nil else { throw LocalModelError.shutDown }
        guard results.allSatisfy({ $0.allSatisfy { !$0.isNaN } }) else {
            throw LocalModelError.resultNotFinite(model: model, input: nil)
        }
        return results
    }

    private var isDone: Bool { isCancelled.load(ordering: .relaxed) || open.isEmpty && next == branches.count }

    /// An output row of a step: the tokens whose probabilities it tells, and to which results they belong.
    private struct Read {
        let branch: Int
        let wanted: [(continuation: Int, token: Int32)]
    }

    /// - Parameter most: Maximum segments.
    private func addBranches(
        to step: inout Step, after prompt: SequenceState, rows: Int, _ most: Int
    ) -> [Read] {
        var reads: [Read] = []
        while next < branches.count, step.segments.count < most {
            let branch = branches[next]
            let state = state ?? prompt.fork()
            state.media = branch.media
            let end = pieceEnd(of: branch, in: state, room: rows - step.tokens.count)
            let isWhole = end == branch.tokens.count
            guard isWhole || step.tokens.isEmpty else { break }
            step.append(branch.tokens[done..<end], to: state, output: isWhole ? .last : .none, adapters: adapters)
            self.state = isWhole ? nil : state
            done = isWhole ? 0 : end
            guard isWhole else { break }
            reads.append(
                Read(branch: next, wanted: branch.continuations.enumerated().map { ($0.offset, $0.element[0]) }))
            let longer = branch.continuations.indices.filter { branch.continuations[$0].count > 1 }
            if !longer.isEmpty { open.append(Open(branch: next, state: state, left: longer[...])) }
            next += 1
        }
        return reads
    }

    /// Where a piece of a branch has to end, counted from its start.
    private func pieceEnd(of branch: Branch, in state: SequenceState, room: Int) -> Int {
        let prompt = state.count - done
        let count = branch.tokens.count
        guard count - done > room else { return count }
        var end = done + room
        // With recurrent layers a piece ends at a page border, which makes results independent of the pieces.
        if state.shape.recurrentFloats > 0 { end = max(done, (prompt + end) / pageTokens * pageTokens - prompt) }
        guard end > done, let media = branch.media else { return end }
        return min(count, media.pieceEnd(prompt + done..<prompt + end) - prompt)
    }

    private func addContinuations(to step: inout Step, rows: Int, _ most: Int) -> [Read] {
        var reads: [Read] = []
        while let first = open.first, step.segments.count < most {
            let continuation = first.left[first.left.startIndex]
            let tokens = branches[first.branch].continuations[continuation]
            guard tokens.count - 1 <= rows - step.tokens.count || step.tokens.isEmpty else { break }
            step.append(tokens.dropLast(), to: first.state.fork(), output: .all, adapters: adapters)
            reads += tokens.dropFirst().map { Read(branch: first.branch, wanted: [(continuation, $0)]) }
            open[0].left.removeFirst()
            if open[0].left.isEmpty { open.removeFirst() }
        }
        return reads
    }

    /// Adds the log probabilities that the rows of a step tell.
    private func collect(_ reads: [Read], _ logits: Matrix, _ compute: Compute) {
        var found = reads.map { Array(repeating: 0.0, count: $0.wanted.count) }
        found.withUnsafeMutableBufferPointer { found in
            compute.pool.forEach(reads.count) { row, _ in
                let row = (index: row, logits: UnsafeBufferPointer(start: logits[row], count: logits.columns))
                let isFinite = logits.isFinite(row.index)
                let logSum = logSumExp(row.logits)
                found[row.index] = reads[row.index].wanted.map {
                    isFinite ? Double(row.logits[Int($0.token)]) - logSum : .nan
                }
            }
        }
        for (read, logprobs) in zip(reads, found) {
            for (wanted, logprob) in zip(read.wanted, logprobs) {
                results[read.branch][wanted.continuation] += logprob
            }
        }
    }
}
