import Compute

/// A drafter's part of a sequence: its state, and what it has learned.
final class DraftProgress {
    let state: SequenceState
    /// Tokens of `state` that are the sequence's; drafted ones may follow.
    private(set) var knownTokens: Int
    /// Drafted tokens in the state, after the known ones.
    var drafted: [Int32] = []
    var length = DraftLength.ofProbabilities
    /// Steps of the answer since the last guess.
    var idleSteps = 0

    /// Width of the model's states; `nil`: the drafter does not read them.
    private let width: Int?
    /// States of the model for the tokens from `firstKept` on, which the drafter will read.
    private var kept: [Float] = []
    private var firstKept: Int
    /// The drafter's own state of the last token in `state`.
    private var last: [Float] = []

    init(_ state: SequenceState, width: Int?) {
        self.state = state
        self.width = width
        knownTokens = state.count
        firstKept = max(0, state.count - 1)
    }

    /// Rolls back to the first `count` tokens, which are the sequence's.
    func settle(at count: Int) {
        drafted = []
        knownTokens = state.rollBack(to: count)
    }

    /// Records that the state has `count` tokens of the sequence.
    ///
    /// - Parameter last: The drafter's own state of the last of them, `[1, width]`.
    func advance(to count: Int, last: Matrix?) {
        knownTokens = count
        setLast(last)
        guard let width else { return }
        let read = min(max(0, count - 1 - firstKept), keptTokens)
        kept.removeFirst(read * width)
        firstKept += read
    }

    // MARK: States of the model

    var keptTokens: Int { width.map { kept.count / $0 } ?? 0 }

    /// Keeps the model's states of the tokens from `start` on, which replace those kept of the same tokens.
    func keep(_ states: Matrix, at start: Int) {
        guard let width else { return }
        if start > firstKept + keptTokens { (kept, firstKept) = ([], start) }
        let overlap = firstKept + keptTokens - start
        kept.removeLast(min(keptTokens, max(0, overlap)) * width)
        for row in max(0, firstKept - start)..<max(states.rows, max(0, firstKept - start)) {
            kept.append(contentsOf: UnsafeBufferPointer(start: states[row], count: width))
        }
    }

    /// Copies the model's state of the token before `token`; zeros if it was not kept, as after a cached prefix.
    func read(stateBefore token: Int, into row: UnsafeMutablePointer<Float>) {
        guard let width else { return }
        let index = token - 1 - firstKept
        if (0..<keptTokens).contains(index) {
            kept.withUnsafeBufferPointer { row.update(from: $0.baseAddress! + index * width, count: width) }
        } else {
            row.update(repeating: 0, count: width)
        }
    }

    func setLast(_ state: Matrix?) {
        guard let state, let width else { return }
        last = Array(UnsafeBufferPointer(start: state[0], count: width))
    }

    /// Copies the drafter's own state of the last token.
    func readLast(into row: UnsafeMutablePointer<Float>) {
        guard let width else { return }
        if last.count == width {
            last.withUnsafeBufferPointer { row.update(from: $0.baseAddress!, count: width) }
        } else {
            row.update(repeating: 0, count: width)
        }
    }
}
