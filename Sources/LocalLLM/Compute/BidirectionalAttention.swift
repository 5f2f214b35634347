import COpenBLAS

/// Parameters of attention in both directions.
struct BidirectionalShape: Sendable {
    /// Query heads; each group of `heads / kvHeads` shares a KV head.
    let heads: Int
    let kvHeads: Int
    let keyWidth: Int
    let valueWidth: Int
    /// Factor on the scores: usually 1/√keyWidth.
    let scale: Float
    /// Maximum distance in tokens to attend to, on either side; `nil`: unlimited.
    var reach: Int?
}

/// Query rows, and the key and value rows that they attend to.
struct AttentionSpan {
    let queries: Range<Int>
    let keys: Range<Int>
    /// Index of the key at the position of the first query; used with a reach or a bias.
    var firstPosition = 0
}

extension Compute {
    /// Query rows of a tile: enough for a matrix product at full speed.
    private static let tileRows = 64
    /// Scores of a tile: a megabyte, which stays in the caches between the two products.
    private static let tileScores = 1 << 18

    /// Attention without a causal mask, over contiguous keys and values.
    ///
    /// - Parameters:
    ///   - queries: `[rows, heads · keyWidth]`.
    ///   - keys, values: `[rows, kvHeads · keyWidth]` and `[rows, kvHeads · valueWidth]`.
    ///   - bias: Added to the scores.
    ///   - output: `[rows, heads · valueWidth]`.
    func attention(
        _ queries: Matrix, _ keys: Matrix, _ values: Matrix, within spans: [AttentionSpan],
        _ shape: BidirectionalShape, bias: PositionBias? = nil, into output: Matrix
    ) {
        let table = bias?.table(longest: spans.reduce(1) { max($0, $1.keys.count) })
        var tiles: [(span: AttentionSpan, rows: Range<Int>)] = []
        var scores = 0
        for span in spans {
            let visible = shape.reach.map { min(span.keys.count, Self.tileRows + 2 * $0) } ?? span.keys.count
            let size = max(8, min(Self.tileRows, Self.tileScores / max(1, visible)))
            scores = max(scores, size * visible)
            for first in stride(from: span.queries.lowerBound, to: span.queries.upperBound, by: size) {
                tiles.append((span, first..<min(first + size, span.queries.upperBound)))
            }
        }
        reserveScratch(floats: scores)
        timed(ProfiledPart(attentionWithin: spans, shape)) {
            pool.forEach(tiles.count * shape.heads) { piece, worker in
                let (span, rows) = tiles[piece / shape.heads]
                attend(
                    rows, of: span, head: piece % shape.heads, queries, keys, values, shape, table, into: output,
                    scratchOfWorker(worker))
            }
        }
    }

    /// Attention of one head for some rows.
    private func attend(
        _ rows: Range<Int>, of span: AttentionSpan, head: Int, _ queries: Matrix, _ keys: Matrix, _ values: Matrix,
        _ shape: BidirectionalShape, _ bias: Matrix?, into output: Matrix, _ scores: UnsafeMutablePointer<Float>
    ) {
        // Position of the first row, counted from the first key.
        let first = span.firstPosition + rows.lowerBound - span.queries.lowerBound
        let seen =
            shape.reach.map { max(0, first - $0)..<min(span.keys.count, first + rows.count + $0) }
            ?? 0..<span.keys.count
        let kvHead = head / (shape.heads / shape.kvHeads)
        let firstKey = span.keys.lowerBound + seen.lowerBound
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasTrans, Int32(rows.count), Int32(seen.count), Int32(shape.keyWidth),
            shape.scale, queries[rows.lowerBound] + head * shape.keyWidth, Int32(queries.stride),
            keys[firstKey] + kvHead * shape.keyWidth, Int32(keys.stride), 0, scores, Int32(seen.count))
        for row in 0..<rows.count {
            let (position, values) = (first + row, scores + row * seen.count)
            if let bias {
                let added = bias[head] + bias.columns / 2 - position + seen.lowerBound
                for index in 0..<seen.count { values[index] += added[index] }
            }
            if let reach = shape.reach {
                for key in seen where abs(key - position) > reach { values[key - seen.lowerBound] = -.infinity }
            }
            kernels.softmax(values, seen.count)
        }
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasNoTrans, Int32(rows.count), Int32(shape.valueWidth), Int32(seen.count), 1,
            scores, Int32(seen.count), values[firstKey] + kvHead * shape.valueWidth, Int32(values.stride), 0,
            output[rows.lowerBound] + head * shape.valueWidth, Int32(output.stride))
    }
}
