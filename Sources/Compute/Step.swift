/// The tokens of a forward pass: a batch of rows from one or more sequences.
///
/// A step can mix prefill chunks with single tokens of running answers; each weight is read once for all rows.
package struct Step {
    /// Consecutive tokens of one sequence.
    package struct Segment {
        package let state: SequenceState
        /// The rows of the step that hold these tokens.
        package let rows: Range<Int>
        /// Position of the first token in its sequence.
        package let start: Int
    }

    /// Part of an image among the rows.
    struct MediaSegment {
        let rows: Range<Int>
        /// Vectors of these rows: the first `width` columns replace embeddings; each further `width` columns are added
        /// after one of the first layers.
        let vectors: Matrix
    }

    /// Token IDs by row; 0 in rows of images.
    package private(set) var tokens: [Int32] = []
    package private(set) var positions: [Int32] = []
    /// Positions with rows and columns of images.
    package private(set) var places: [RotaryPosition] = []
    private(set) var media: [MediaSegment] = []
    package private(set) var segments: [Segment] = []
    /// Rows with an output, ascending.
    package private(set) var outputRows: [Int] = []
    /// The kind of output.
    package var output = Output.logits
    /// Which logits of each output row are needed; empty: all.
    package var wanted: [BestOutputs] = []
    /// Polled between layers: whether the result is no longer needed. The result is then undefined.
    package var isAbandoned: () -> Bool = { false }

    /// The model's states of the tokens before those of the rows, `[rows, width]`; read by heads for multi-token
    /// prediction only.
    package var previousStates: Matrix?

    /// Number of decode rows. They precede all prefill rows.
    package private(set) var answerRows = 0

    /// Adapters of the sequences, each with the rows that it applies to.
    package private(set) var adapters: [AdapterRows] = []

    package init() {}

    /// Replaces embeddings by image vectors, or adds those of the layer that was just computed.
    ///
    /// - Parameters:
    ///   - part: 0: replaces embeddings; n: adds the vectors for the n-th layer.
    ///   - residual: `[rows, width]`.
    package func add(part: Int, ofImagesTo residual: Matrix, on compute: Compute) {
        for image in media where image.vectors.columns >= (part + 1) * residual.columns {
            let vectors = image.vectors[columns: part * residual.columns, count: residual.columns]
            let rows = residual[rows: image.rows.lowerBound, count: image.rows.count]
            if part == 0 { compute.copy(vectors, into: rows) } else { compute.add(vectors, to: rows) }
        }
    }

    /// Appends `new` after the tokens of `state`, and grows the state. A sequence may be in a step only once.
    ///
    /// - Parameters:
    ///   - isAnswer: Whether these tokens were generated. Must be appended before all prompts.
    ///   - selection: The sequence's adapters.
    package mutating func append(
        _ new: ArraySlice<Int32>, to state: SequenceState, output: Rows, isAnswer: Bool = false,
        adapters selection: AdapterSelection = .none
    ) {
        if isAnswer {
            precondition(answerRows == tokens.count, "answers come before prompts in a step")
            answerRows += new.count
        }
        let rows = tokens.count..<tokens.count + new.count
        let start = state.count
        if let sequenceMedia = state.media {
            let (sequence, offset) = (start..<start + new.count, rows.lowerBound - start)
            tokens.append(contentsOf: new.map { max(0, $0) })
            places.append(contentsOf: sequence.map { sequenceMedia.place(ofToken: $0) })
            for image in sequenceMedia.placed where image.tokens.overlaps(sequence) {
                let part = image.tokens.clamped(to: sequence)
                media.append(
                    MediaSegment(
                        rows: part.lowerBound + offset..<part.upperBound + offset,
                        vectors: image.rows.matrix[
                            rows: part.lowerBound - image.tokens.lowerBound, count: part.count]))
            }
        } else {
            tokens.append(contentsOf: new)
            places.append(contentsOf: (0..<new.count).map { RotaryPosition(Int32(start + $0)) })
        }
        positions.append(contentsOf: places[rows].map(\.time))
        segments.append(Segment(state: state, rows: rows, start: start))
        state.grow(by: new.count)
        for use in selection.uses {
            let adapted = rows.dropFirst(max(0, use.start - start))
            if adapted.isEmpty { continue }
            if let index = adapters.firstIndex(where: { $0.adapter === use.adapter && $0.scale == use.scale }) {
                adapters[index].rows.insert(contentsOf: adapted)
            } else {
                adapters.append(AdapterRows(adapter: use.adapter, scale: use.scale, rows: RangeSet(adapted)))
            }
        }
        switch output {
        case .none: break
        case .last: outputRows.append(rows.upperBound - 1)
        case .tail(let count): outputRows.append(contentsOf: rows.suffix(count))
        case .all: outputRows.append(contentsOf: rows)
        }
    }

    /// The rows with an output as a step of their own, with the same outputs. For operations that compute each row
    /// separately, and for attention to keys and values that are already stored. `nil` if all rows have an output.
    package var ofOutputs: Step? {
        guard outputRows.count < tokens.count else { return nil }
        /// The rows with an output among `rows`, as rows of the new step.
        func kept(_ rows: Range<Int>) -> Range<Int> {
            let start = outputRows.firstIndex { $0 >= rows.lowerBound } ?? outputRows.count
            return start..<(outputRows.firstIndex { $0 >= rows.upperBound } ?? outputRows.count)
        }
        var step = self
        step.tokens = outputRows.map { tokens[$0] }
        step.positions = outputRows.map { positions[$0] }
        step.places = outputRows.map { places[$0] }
        step.outputRows = Array(outputRows.indices)
        step.answerRows = kept(0..<answerRows).count
        // The outputs of a segment, and so of an image in it, are those of its last rows.
        step.segments = segments.map { segment in
            let rows = kept(segment.rows)
            return Segment(
                state: segment.state, rows: rows, start: segment.start + segment.rows.count - rows.count)
        }
        step.media = media.map { image in
            let rows = kept(image.rows)
            return MediaSegment(
                rows: rows, vectors: image.vectors[rows: image.rows.count - rows.count, count: rows.count])
        }
        step.adapters = adapters.map { use in
            AdapterRows(
                adapter: use.adapter, scale: use.scale, rows: outputRows.indices(where: { use.rows.contains($0) }))
        }
        step.previousStates = nil
        return step
    }

    /// Replaces the ids of all appended tokens.
    package mutating func replaceTokens(_ replacement: (Int32) -> Int32) { tokens = tokens.map(replacement) }

    /// Applies another adapter, after those of the sequences.
    package mutating func add(_ use: AdapterRows) { adapters.append(use) }

    /// Which of the appended tokens have an output.
    package enum Rows {
        case none, last, all
        /// The last tokens.
        case tail(Int)
    }

    package enum Output {
        case logits
        /// The residual stream after the last norm, from which logits are made.
        case states
    }
}
