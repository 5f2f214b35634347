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

    /// A part of a picture among the rows.
    struct ImageSegment {
        let rows: Range<Int>
        /// The vectors of these rows: the first columns take the place of embeddings, the others are added after the first
        /// layers, as many at a time.
        let vectors: Matrix
    }

    /// Ids; 0 in rows of pictures.
    private(set) var tokens: [Int32] = []
    private(set) var positions: [Int32] = []
    /// The same with rows and columns of pictures.
    private(set) var places: [Place] = []
    private(set) var images: [ImageSegment] = []
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

    /// Adds the vectors that pictures have for the layer after which this is called.
    ///
    /// - Parameters:
    ///   - part: 0: they take the place of embeddings; n: they are added after the n-th layer.
    ///   - residual: `[rows, width]`.
    func add(part: Int, ofImagesTo residual: Matrix, on compute: Compute) {
        for image in images where image.vectors.columns >= (part + 1) * residual.columns {
            let vectors = image.vectors[columns: part * residual.columns, count: residual.columns]
            let rows = residual[rows: image.rows.lowerBound, count: image.rows.count]
            if part == 0 { compute.copy(vectors, into: rows) } else { compute.add(vectors, to: rows) }
        }
    }

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
        if let pictures = state.images {
            let (sequence, offset) = (start..<start + new.count, rows.lowerBound - start)
            tokens.append(contentsOf: new.map { max(0, $0) })
            places.append(contentsOf: sequence.map { pictures.place(ofToken: $0) })
            for image in pictures.images where image.tokens.overlaps(sequence) {
                let part = image.tokens.clamped(to: sequence)
                images.append(
                    ImageSegment(
                        rows: part.lowerBound + offset..<part.upperBound + offset,
                        vectors: image.rows.matrix[
                            rows: part.lowerBound - image.tokens.lowerBound, count: part.count]))
            }
        } else {
            tokens.append(contentsOf: new)
            places.append(contentsOf: (0..<new.count).map { Place(Int32(start + $0)) })
        }
        positions.append(contentsOf: places[rows].map(\.time))
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
