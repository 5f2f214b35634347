/// What the model computes at once: some tokens of some sequences.
///
/// A step can mix chunks of prompts with single tokens of running answers; every weight is read once for all rows.
struct Step {
    /// Consecutive tokens of one sequence.
    struct Segment {
        let state: SequenceState
        /// The rows of the step that these tokens are.
        let rows: Range<Int>
        /// Position in the sequence of the first of them.
        let start: Int
    }

    private(set) var tokens: [Int32] = []
    private(set) var positions: [Int32] = []
    private(set) var segments: [Segment] = []
    /// Rows that something is wanted of, ascending.
    private(set) var outputRows: [Int] = []
    /// What is wanted of them.
    var output = Output.logits
    /// Asked between layers: whether nobody wants the result any more. It may then be anything.
    var isAbandoned: () -> Bool = { false }

    /// Rows that are tokens of answers. They come first.
    private(set) var answerRows = 0

    /// The adapters of its sequences, each with the rows that it acts on.
    private(set) var adapters: [AdapterRows] = []

    /// Appends `new` after what `state` holds, and grows it. A sequence is in a step once.
    ///
    /// - Parameters:
    ///   - isAnswer: Whether these are tokens that were generated. Appended before all prompts.
    ///   - selection: The sequence's adapters.
    mutating func append(
        _ new: ArraySlice<Int32>, to state: SequenceState, output: Rows, isAnswer: Bool = false,
        adapters selection: AdapterSelection = .none
    ) {
        if isAnswer {
            precondition(answerRows == tokens.count, "answers come before prompts in a step")
            answerRows += new.count
        }
        let rows = tokens.count..<tokens.count + new.count
        let start = state.count
        tokens.append(contentsOf: new)
        positions.append(contentsOf: (0..<new.count).map { Int32(start + $0) })
        segments.append(Segment(state: state, rows: rows, start: start))
        state.grow(by: new.count)
        for use in selection.uses {
            let adapted = Array(rows.dropFirst(max(0, use.start - start)))
            if adapted.isEmpty { continue }
            if let index = adapters.firstIndex(where: { $0.adapter === use.adapter && $0.scale == use.scale }) {
                adapters[index].rows += adapted
            } else {
                adapters.append(AdapterRows(adapter: use.adapter, scale: use.scale, rows: adapted))
            }
        }
        switch output {
        case .none: break
        case .last: outputRows.append(rows.upperBound - 1)
        case .tail(let count): outputRows.append(contentsOf: rows.suffix(count))
        case .all: outputRows.append(contentsOf: rows)
        }
    }

    /// Which of the appended tokens the caller wants something of.
    enum Rows {
        case none, last, all
        /// So many of the last.
        case tail(Int)
    }

    enum Output {
        case logits
        /// What the logits are made from: the residual stream after the last norm.
        case states
    }
}
