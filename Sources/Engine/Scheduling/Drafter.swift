package import Networks
import Compute
import Foundation

/// Drafts tokens with a network: a smaller model with the same vocabulary, or the model's own heads for multi-token
/// prediction.
///
/// It has a state of its own per sequence (`DraftProgress`), which advances when tokens are drafted and is rolled back
/// when they are rejected. Used by the engine's thread only.
package final class Drafter {
    private let network: any Network
    /// Width of the model's states that the network reads; `nil`: it reads tokens only.
    let statesWidth: Int?
    /// Tokens that both vocabularies have.
    private let vocabularySize: Int
    /// Seconds of a step that drafts one more token of each sequence, averaged; 0: not measured.
    private var secondsOfStep = 0.0
    /// States that the network reads, `[rows, statesWidth]`.
    private var inputs = AlignedBuffer(byteCount: 0)

    private static let weight = 0.125
    /// Tokens up to which a sequence's rows are computed as in decoding.
    private static let decodedTokens = 16
    /// Tokens whose states may wait until the network reads them.
    private static let waitingTokens = 32
    /// Steps after which a drafter guesses a token even if drafts did not pay before, to learn whether they do now.
    private static let probeInterval = 16

    var shape: StateShape { network.stateShape }

    /// - Parameters:
    ///   - vocabularySize: That of the model.
    ///   - statesWidth: Width of the model's states, for a network that reads them.
    package init(_ network: any Network, vocabularySize: Int, statesWidth: Int?) {
        self.network = network
        self.statesWidth = statesWidth
        self.vocabularySize = min(vocabularySize, network.vocabularySize)
    }

    /// - Parameter pages: Pages of the sequence's first tokens, from earlier requests.
    func makeProgress(beginning pages: [[SequenceState.Buffer]], in memory: StateMemory) -> DraftProgress {
        DraftProgress(
            SequenceState(shape, in: memory, beginning: shape.needsCheckpoints ? [] : pages), width: statesWidth)
    }

    // MARK: States of the model

    /// Keeps the states that the model computed in a step.
    ///
    /// - Parameters:
    ///   - states: By row of the step.
    ///   - sequences: By segment of the step.
    func keep(_ states: Matrix, of step: Step, _ sequences: [ModelThread.Sequence], on compute: Compute) {
        for (segment, sequence) in zip(step.segments, sequences) {
            guard let progress = sequence.drafts.progress else { continue }
            progress.keep(states[rows: segment.rows.lowerBound, count: segment.rows.count], at: segment.start)
            guard progress.keptTokens >= Self.waitingTokens else { continue }
            settle(sequence)
            // Tokens that were drafted for this step are not known to be right yet.
            let end = min(segment.start + segment.rows.count, sequence.tokens.count)
            while progress.state.count < end { _ = catchUp([sequence], to: [end], on: compute) }
        }
    }

    // MARK: Drafting

    private struct Draft {
        let sequence: ModelThread.Sequence
        var gain: DraftGain
        var tokens: [Int32] = []
        var kinds: [Int] = []
        /// The network's most likely next token.
        var top: (token: Int32, probability: Double)?
    }

    /// Drafts tokens for the next step of sequences that have no other drafts, as many as pay.
    ///
    /// - Parameter room: The room of each in the next step.
    func draft(for sequences: [ModelThread.Sequence], room: DraftRoom, cost: StepCost, on compute: Compute) {
        guard cost.isMeasured else { return }
        let gain = DraftGain(room: room, cost: cost, secondsOfDraft: secondsOfStep)
        let wanted = sequences.filter { sequence in
            guard let progress = sequence.drafts.progress, min(room.rows, sequence.draftLimit) > 0 else { return false }
            progress.idleSteps += 1
            return progress.idleSteps >= Self.probeInterval || gain.pays(progress.length.overall)
        }
        guard !wanted.isEmpty else { return }
        for sequence in wanted { settle(sequence) }
        var started = ContinuousClock.now
        let isLong = wanted.contains { $0.tokens.count - $0.drafts.progress!.state.count > 2 }
        var drafts = catchUp(wanted, to: wanted.map(\.tokens.count), on: compute).map {
            Draft(sequence: $0.sequence, gain: gain, top: $0.top)
        }
        // Those that are still behind draft after one of the next steps.
        for draft in drafts {
            draft.sequence.drafts.progress!.idleSteps = 0
            draft.sequence.drafts.progress!.state.checkpoint()
        }
        if !isLong { learn(since: started) }
        while true {
            drafts = drafts.compactMap { propose($0, most: min(room.rows, $0.sequence.draftLimit)) }
            guard !drafts.isEmpty else { return }
            started = .now
            extend(&drafts, on: compute)
            learn(since: started)
        }
    }

    /// Adds the top token to a draft, if it pays, and proposes the draft to its sequence.
    ///
    /// - Returns: The draft if one more token is likely to pay.
    private func propose(_ draft: Draft, most: Int) -> Draft? {
        var draft = draft
        guard let top = draft.top else { return nil }
        let length = draft.sequence.drafts.progress!.length
        let kind = DraftLength.kind(probability: top.probability)
        draft.tokens.append(top.token)
        draft.kinds.append(kind)
        let pays = draft.gain.pays(length.rate(kind), isDrafted: true)
        draft.sequence.drafts.propose(draft.tokens, kinds: draft.kinds, count: draft.tokens.count - (pays ? 0 : 1))
        guard pays, draft.tokens.count < most else { return nil }
        draft.gain.add(rate: length.rate(kind))
        return draft.gain.pays(length.overall) ? draft : nil
    }

    private func learn(since started: ContinuousClock.Instant) {
        let seconds = (.now - started) / .seconds(1)
        if secondsOfStep == 0 {
            secondsOfStep = seconds
        } else {
            // Clamped: a step that the system interrupted says nothing.
            secondsOfStep += (min(seconds, 2 * secondsOfStep) - secondsOfStep) * Self.weight
        }
    }

    /// Rolls back drafted tokens that were not accepted. Heads read the model's states of accepted tokens anew.
    private func settle(_ sequence: ModelThread.Sequence) {
        let progress = sequence.drafts.progress!
        let next = sequence.tokens.dropFirst(progress.knownTokens)
        let accepted = statesWidth == nil ? zip(progress.drafted, next).prefix { $0 == $1 }.count : 0
        progress.settle(at: progress.knownTokens + accepted)
    }

    /// Computes tokens that the states lack, at most `StateShape.stepRows` of all sequences.
    ///
    /// - Parameter ends: Lengths to which the sequences are to be computed.
    /// - Returns: The sequences that reached their ends, with the most likely next token.
    private func catchUp(
        _ sequences: [ModelThread.Sequence], to ends: [Int], on compute: Compute
    ) -> [(sequence: ModelThread.Sequence, top: (token: Int32, probability: Double)?)] {
        var step = Step()
        var rows = StateShape.stepRows
        var parts: [(sequence: ModelThread.Sequence, end: Int, row: Int)] = []
        // Decoded rows come before prefilled ones in a step.
        for isDecoded in [true, false] {
            for (sequence, end) in zip(sequences, ends) {
                let start = sequence.drafts.progress!.state.count
                let count = min(end - start, rows)
                guard count > 0, (end - start <= Self.decodedTokens) == isDecoded else { continue }
                rows -= count
                parts.append((sequence, end, step.tokens.count))
                step.append(
                    known(sequence.tokens[start..<start + count]), to: sequence.drafts.progress!.state, output: .last,
                    isAnswer: isDecoded)
            }
        }
        guard !parts.isEmpty else { return [] }
        if let width = statesWidth {
            let states = inputs(rows: step.tokens.count, width)
            for (part, segment) in zip(parts, step.segments) {
                for (index, row) in segment.rows.enumerated() {
                    part.sequence.drafts.progress!.read(stateBefore: segment.start + index, into: states[row])
                }
            }
            step.previousStates = states
        }
        let logits = network.forward(step, on: compute)
        var result: [(ModelThread.Sequence, (Int32, Double)?)] = []
        for (index, (part, segment)) in zip(parts, step.segments).enumerated() {
            let progress = part.sequence.drafts.progress!
            progress.advance(
                to: progress.state.count, last: network.lastStates?[rows: segment.rows.upperBound - 1, count: 1])
            if progress.state.count == part.end { result.append((part.sequence, top(of: logits, row: index))) }
        }
        return result
    }

    /// Computes the last token of each draft.
    private func extend(_ drafts: inout [Draft], on compute: Compute) {
        var step = Step()
        if let width = statesWidth { step.previousStates = inputs(rows: drafts.count, width) }
        for (row, draft) in drafts.enumerated() {
            let (progress, token) = (draft.sequence.drafts.progress!, draft.tokens[draft.tokens.count - 1])
            if let states = step.previousStates { progress.readLast(into: states[row]) }
            progress.drafted.append(token)
            step.append([token], to: progress.state, output: .last, isAnswer: true)
        }
        let logits = network.forward(step, on: compute)
        for index in drafts.indices {
            drafts[index].sequence.drafts.progress!.setLast(network.lastStates?[rows: index, count: 1])
            drafts[index].top = top(of: logits, row: index)
        }
    }

    private func inputs(rows: Int, _ width: Int) -> Matrix {
        if inputs.byteCount < rows * width * MemoryLayout<Float>.stride { inputs = AlignedBuffer(floats: rows * width) }
        return inputs.matrix(rows: rows, columns: width)
    }

    /// The tokens, with 0 for those that the network's vocabulary lacks.
    private func known(_ tokens: ArraySlice<Int32>) -> ArraySlice<Int32> {
        let limit = Int32(vocabularySize)
        return tokens.contains { $0 >= limit } ? tokens.map { $0 < limit ? $0 : 0 }[...] : tokens
    }

    /// The most likely token and its probability; `nil` if the logits are not finite.
    private func top(of logits: Matrix, row: Int) -> (token: Int32, probability: Double)? {
        let logits = UnsafeBufferPointer(start: logits[row], count: vocabularySize)
        guard let token = Candidates.mostLikely(in: logits, nil), token >= 0 else { return nil }
        let highest = logits[Int(token)]
        guard highest.isFinite else { return nil }
        var sum: Float = 0
        // Tokens below e^-16 of the highest change the sum by 2 % at most, in a vocabulary of 150,000.
        for logit in logits where logit > highest - 16 { sum += exp(logit - highest) }
        return (token, 1 / Double(max(1, sum)))
    }
}
