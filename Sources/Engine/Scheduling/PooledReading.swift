package import Networks
package import Compute
import Synchronization

/// Computes the pooled states of several inputs, in steps whose size `StepPace` chooses.
///
/// `@unchecked Sendable`: used by the engine's thread while it reads, by the caller before and after; `isCancelled` is
/// atomic.
package final class PooledReading: @unchecked Sendable {
    /// The model's name, for error messages.
    private let model: String
    private let inputs: [[Int32]]
    private let pooling: Pooling
    private let head: PoolingHead
    /// Whether an input may be split over several steps.
    private let splitsInputs: Bool
    /// Adapters of each input.
    private let adapters: [AdapterSelection]
    private let isCancelled = Atomic<Bool>(false)

    /// The current input, how many of its tokens were read, and its sequence state.
    private var (next, done) = (0, 0)
    private var state: SequenceState?
    /// Sum, first or last of the current input's states so far.
    private var pooled: [Double] = []
    private var results: [[Float]] = []
    private var pace = StepPace()

    package init(
        _ inputs: [[Int32]], _ pooling: Pooling, model: String, head: PoolingHead, splitsInputs: Bool,
        adapters: [AdapterSelection]
    ) {
        self.model = model
        self.inputs = inputs
        self.pooling = pooling
        self.head = head
        self.splitsInputs = splitsInputs
        self.adapters = adapters
    }

    package func cancel() { isCancelled.store(true, ordering: .relaxed) }

    /// Computes a step.
    ///
    /// - Returns: Whether inputs are left.
    package func readStep(_ network: any Network, _ compute: Compute, beside company: StepCompany) -> Bool {
        guard next < inputs.count, !isCancelled.load(ordering: .relaxed) else { return false }
        var step = Step()
        step.output = .states
        step.isAbandoned = { [self] in isCancelled.load(ordering: .relaxed) }
        var parts: [Range<Int>] = []
        let rows = pace.rows(beside: company, of: network.stateShape)
        while next < inputs.count {
            let input = inputs[next]
            let room = rows - step.tokens.count
            let count = splitsInputs ? min(room, input.count - done) : input.count
            guard count > 0, count <= room || step.tokens.isEmpty else { break }
            let state = state ?? network.makeState()
            step.append(input[done..<done + count], to: state, output: .all, adapters: adapters[next])
            parts.append(done..<done + count)
            let isWhole = done + count == input.count
            self.state = isWhole ? nil : state
            (next, done) = isWhole ? (next + 1, 0) : (next, done + count)
            if !isWhole { break }
        }
        let started = ContinuousClock.now
        let states = network.forward(step, on: compute)
        pace.learn(rows: step.tokens.count, seconds: (.now - started) / .seconds(1))
        guard !isCancelled.load(ordering: .relaxed) else { return false }
        collect(states, of: step, parts, compute)
        return next < inputs.count
    }

    /// - Throws: `resultNotFinite`.
    package func finish() throws -> [[Float]] {
        guard !isCancelled.load(ordering: .relaxed) else { throw CancellationError() }
        if let row = results.firstIndex(where: { !$0.allSatisfy(\.isFinite) }) {
            throw LocalModelError.resultNotFinite(model: model, input: pooling == .none ? 0 : row)
        }
        return results
    }

    /// Pools the states of a step, `[tokens, embedding length]`.
    ///
    /// - Parameter parts: Token ranges of the segments in their inputs.
    private func collect(_ states: Matrix, of step: Step, _ parts: [Range<Int>], _ compute: Compute) {
        guard pooling != .none else {
            for row in 0..<states.rows {
                results.append(Array(UnsafeBufferPointer(start: states[row], count: states.columns)))
            }
            return
        }
        var finished: [[Double]] = []
        let firstInput = next - parts.count + (state == nil ? 0 : 1)
        for (index, (segment, part)) in zip(step.segments, parts).enumerated() {
            pool(states[rows: segment.rows.lowerBound, count: segment.rows.count], isFirst: part.lowerBound == 0)
            let count = inputs[firstInput + index].count
            guard part.upperBound == count else { continue }
            finished.append(head.statePooling(pooling) == .mean ? pooled.map { $0 / Double(count) } : pooled)
        }
        guard let width = finished.first?.count else { return }
        let buffer = AlignedBuffer(floats: finished.count * width)
        let matrix = buffer.matrix(rows: finished.count, columns: width)
        for (row, values) in finished.enumerated() {
            for (column, value) in values.enumerated() { matrix[row][column] = Float(value) }
        }
        results += withExtendedLifetime(buffer) { head.outputs(matrix, pooling, on: compute) }
    }

    /// Adds states of the current input to `pooled`.
    private func pool(_ states: Matrix, isFirst: Bool) {
        switch head.statePooling(pooling) {
        case .cls:
            if isFirst { pooled = row(states, 0) }
        case .last: pooled = row(states, states.rows - 1)
        case .mean, .none, .rank:
            if isFirst { pooled = Array(repeating: 0, count: states.columns) }
            for index in 0..<states.rows {
                let state = states[index]
                for column in 0..<states.columns { pooled[column] += Double(state[column]) }
            }
        }
    }

    private func row(_ states: Matrix, _ index: Int) -> [Double] {
        (0..<states.columns).map { Double(states[index][$0]) }
    }
}
