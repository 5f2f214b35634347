/// Rows of a step that continue one sequence, with its state of a recurrent layer.
package struct RecurrentRun {
    package let rows: Range<Int>
    /// Position of the first row in the sequence.
    package let start: Int
    /// Whether the rows are decoded. They are then computed one by one, so that drafted tokens, and answers recomputed
    /// after preemption, give the same bits as plain decoding.
    let isAnswer: Bool
    let state: UnsafeMutablePointer<Float>

    package init(rows: Range<Int>, start: Int, isAnswer: Bool = false, state: UnsafeMutablePointer<Float>) {
        self.rows = rows
        self.start = start
        self.isAnswer = isAnswer
        self.state = state
    }

    /// Calls `body` with each chunk of rows. Chunks begin at multiples of `length` in the sequence, so that a prompt
    /// split there gives the same bits as the whole.
    func forEachChunk(length: Int, _ body: (_ first: Int, _ count: Int) -> Void) {
        var row = rows.lowerBound
        while row < rows.upperBound {
            let position = start + row - rows.lowerBound
            let count = isAnswer ? 1 : min(length - position % length, rows.upperBound - row)
            body(row, count)
            row += count
        }
    }
}

extension Step {
    /// The segments, with their states of a recurrent layer.
    package func runs(ofLayer layer: Int) -> [RecurrentRun] {
        segments.map {
            RecurrentRun(
                rows: $0.rows, start: $0.start, isAnswer: $0.rows.lowerBound < answerRows,
                state: $0.state.recurrent(layer: layer))
        }
    }
}

/// Whole numbers in a run's state.
extension RecurrentRun {
    /// The token IDs that `remember` stored; −1 where there was none.
    package func tokens(count: Int, stateOffset: Int) -> [Int32] {
        (0..<count).map { Int32(bitPattern: state[stateOffset + $0].bitPattern) - 1 }
    }

    /// Stores token IDs, plus 1: a new state is zero.
    package func remember(tokens: [Int32], stateOffset: Int) {
        for (place, token) in tokens.enumerated() {
            state[stateOffset + place] = Float(bitPattern: UInt32(bitPattern: token + 1))
        }
    }
}
