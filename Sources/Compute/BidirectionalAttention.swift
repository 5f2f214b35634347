import COpenBLAS
import KernelFormats

/// Parameters of attention in both directions.
package struct BidirectionalShape: Sendable {
    /// Query heads; each group of `heads / kvHeads` shares a KV head.
    package let heads: Int
    package let kvHeads: Int
    package let keyWidth: Int
    package let valueWidth: Int
    /// Factor on the scores: usually 1/√keyWidth.
    let scale: Float
    /// Maximum distance in tokens to attend to, on either side; `nil`: unlimited.
    var reach: Int?

    package init(heads: Int, kvHeads: Int, keyWidth: Int, valueWidth: Int, scale: Float, reach: Int? = nil) {
        self.heads = heads
        self.kvHeads = kvHeads
        self.keyWidth = keyWidth
        self.valueWidth = valueWidth
        self.scale = scale
        self.reach = reach
    }

}

/// Query rows, and the key and value rows that they attend to.
package struct AttentionSpan {
    let queries: Range<Int>
    let keys: Range<Int>
    /// Index of the key at the position of the first query; used with a reach or a bias.
    var firstPosition = 0

    package init(queries: Range<Int>, keys: Range<Int>, firstPosition: Int = 0) {
        (self.queries, self.keys, self.firstPosition) = (queries, keys, firstPosition)
    }

}

extension Compute {
    /// Query rows of a tile: enough for a matrix product at full speed.
    private static let tileRows = 64
    /// Scores of a tile: a megabyte, which stays in the caches between the two products.
    private static let tileScores = 1 << 18
    /// Query rows of a tile of blocks: enough that the conversion of keys and values to pages costs little.
    private static let blockTileRows = 8 * BlockAttention.rows

    /// Attention without a causal mask, over contiguous keys and values. `BLAS.load` must have succeeded.
    ///
    /// - Parameters:
    ///   - queries: `[rows, heads · keyWidth]`.
    ///   - keys, values: `[rows, kvHeads · keyWidth]` and `[rows, kvHeads · valueWidth]`.
    ///   - bias: Added to the scores.
    ///   - output: `[rows, heads · valueWidth]`.
    package func attention(
        _ queries: Matrix, _ keys: Matrix, _ values: Matrix, within spans: [AttentionSpan],
        _ shape: BidirectionalShape, bias: PositionBias? = nil, into output: Matrix
    ) {
        let table = bias?.table(longest: spans.reduce(1) { max($0, $1.keys.count) })
        var tiles: [(span: AttentionSpan, rows: Range<Int>, isBlocked: Bool)] = []
        var scores = 0
        let fitsBlocks =
            kernels.attendBlock != nil && bias == nil && shape.reach == nil && shape.valueWidth % 8 == 0
        for span in spans {
            if fitsBlocks, min(span.queries.count, span.keys.count) >= BlockAttention.rows {
                scores = max(scores, PagedHead.scratchFloats(rows: Self.blockTileRows, shape))
                for first in stride(
                    from: span.queries.lowerBound, to: span.queries.upperBound, by: Self.blockTileRows)
                {
                    let end = min(first + Self.blockTileRows, span.queries.upperBound)
                    tiles.append((span, first..<end, true))
                }
                continue
            }
            let visible = shape.reach.map { min(span.keys.count, Self.tileRows + 2 * $0) } ?? span.keys.count
            let size = max(8, min(Self.tileRows, Self.tileScores / max(1, visible)))
            scores = max(scores, size * visible)
            for first in stride(from: span.queries.lowerBound, to: span.queries.upperBound, by: size) {
                tiles.append((span, first..<min(first + size, span.queries.upperBound), false))
            }
        }
        reserveScratch(floats: scores)
        timed(ProfiledPart(attentionWithin: spans, shape)) {
            pool.forEach(tiles.count * shape.heads) { item, worker in
                let (span, rows, isBlocked) = tiles[item / shape.heads]
                let (head, scratch) = (item % shape.heads, scratchOfWorker(worker))
                if isBlocked {
                    PagedHead(kernels, shape, rows, in: scratch)
                        .attend(
                            queries, keys[rows: span.keys.lowerBound, count: span.keys.count],
                            values[rows: span.keys.lowerBound, count: span.keys.count], head: head, into: output)
                } else {
                    attend(rows, of: span, head: head, queries, keys, values, shape, table, into: output, scratch)
                }
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
        let blas = BLAS.functions
        blas.cblas_sgemm(
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
        blas.cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasNoTrans, Int32(rows.count), Int32(shape.valueWidth), Int32(seen.count), 1,
            scores, Int32(seen.count), values[firstKey] + kvHead * shape.valueWidth, Int32(values.stride), 0,
            output[rows.lowerBound] + head * shape.valueWidth, Int32(output.stride))
    }
}

/// Attention of one head for a tile of query rows, with the kernel for 32 rows side by side: keys and values are read in
/// pages of 32 tokens, like those of the KV cache, and no row has all its scores in memory.
private struct PagedHead {
    private let kernels: KernelSet
    private let shape: BidirectionalShape
    private let rows: Range<Int>
    /// `[D][32]` keys, then `[32][Dv]` values.
    private let page: UnsafeMutablePointer<Float>
    private let kernelScratch: UnsafeMutablePointer<Float>
    /// Of each block `[D][32]` queries, `[Dv][32]` outputs, `[32]` maxima and `[32]` sums.
    private let blocks: UnsafeMutablePointer<Float>
    /// The tokens of the page that rows attend to.
    private let first: UnsafeMutablePointer<Int32>
    private let end: UnsafeMutablePointer<Int32>

    private static func blockFloats(_ shape: BidirectionalShape) -> Int {
        BlockAttention.rows * (shape.keyWidth + shape.valueWidth + 2)
    }

    private static func pageFloats(_ shape: BidirectionalShape) -> Int {
        pageTokens * (shape.keyWidth + shape.valueWidth)
    }

    static func scratchFloats(rows: Int, _ shape: BidirectionalShape) -> Int {
        let blocks = (rows + BlockAttention.rows - 1) / BlockAttention.rows
        return pageFloats(shape) + BlockAttention.rows * (pageTokens + 2) + blocks * blockFloats(shape)
    }

    init(
        _ kernels: KernelSet, _ shape: BidirectionalShape, _ rows: Range<Int>,
        in scratch: UnsafeMutablePointer<Float>
    ) {
        (self.kernels, self.shape, self.rows) = (kernels, shape, rows)
        page = scratch
        kernelScratch = page + Self.pageFloats(shape)
        let bounds = UnsafeMutableRawPointer(kernelScratch + BlockAttention.rows * pageTokens)
        first = bounds.bindMemory(to: Int32.self, capacity: 2 * BlockAttention.rows)
        end = first + BlockAttention.rows
        blocks = kernelScratch + BlockAttention.rows * (pageTokens + 2)
    }

    /// - Parameters:
    ///   - keys, values: Those that the rows attend to.
    func attend(_ queries: Matrix, _ keys: Matrix, _ values: Matrix, head: Int, into output: Matrix) {
        guard let attendBlock = kernels.attendBlock else { preconditionFailure("the tier has no kernel for blocks") }
        let kvHead = head / (shape.heads / shape.kvHeads)
        let works = stride(from: rows.lowerBound, to: rows.upperBound, by: BlockAttention.rows).enumerated().map {
            work($0, of: queries, from: $1, head: head)
        }
        first.update(repeating: 0, count: BlockAttention.rows)
        for start in stride(from: 0, to: keys.rows, by: pageTokens) {
            let count = min(pageTokens, keys.rows - start)
            // The kernel also multiplies the keys and values of the missing tokens; they must be finite.
            if count < pageTokens { page.update(repeating: 0, count: Self.pageFloats(shape)) }
            kernels.rows.transpose(
                keys[start] + kvHead * shape.keyWidth, keys.stride, count, shape.keyWidth, page, pageTokens)
            for token in 0..<count {
                (page + pageTokens * shape.keyWidth + token * shape.valueWidth).update(
                    from: values[start + token] + kvHead * shape.valueWidth, count: shape.valueWidth)
            }
            end.update(repeating: Int32(count), count: BlockAttention.rows)
            for work in works { attendBlock(work) }
        }
        for (index, work) in works.enumerated() {
            let row = rows.lowerBound + index * BlockAttention.rows
            for lane in 0..<BlockAttention.rows { work.sums[lane] = 1 / work.sums[lane] }
            for d in 0..<shape.valueWidth {
                let column = work.outputs + d * BlockAttention.rows
                for lane in 0..<BlockAttention.rows { column[lane] *= work.sums[lane] }
            }
            kernels.rows.transpose(
                work.outputs, BlockAttention.rows, shape.valueWidth, min(BlockAttention.rows, rows.upperBound - row),
                output[row] + head * shape.valueWidth, output.stride)
        }
    }

    /// Block `index`, whose first row is `row`, before the first page. Rows that only fill it up have queries of zeros.
    private func work(_ index: Int, of queries: Matrix, from row: Int, head: Int) -> BlockAttention {
        let block = blocks + index * Self.blockFloats(shape)
        let (queryFloats, outputFloats) = (
            BlockAttention.rows * shape.keyWidth, BlockAttention.rows * shape.valueWidth
        )
        let count = min(BlockAttention.rows, rows.upperBound - row)
        if count < BlockAttention.rows { block.update(repeating: 0, count: queryFloats) }
        kernels.rows.transpose(
            queries[row] + head * shape.keyWidth, queries.stride, count, shape.keyWidth, block, BlockAttention.rows)
        for index in 0..<queryFloats { block[index] *= shape.scale }
        let outputs = block + queryFloats
        let (maxima, sums) = (outputs + outputFloats, outputs + outputFloats + BlockAttention.rows)
        outputs.update(repeating: 0, count: outputFloats)
        maxima.update(repeating: -.infinity, count: BlockAttention.rows)
        sums.update(repeating: 0, count: BlockAttention.rows)
        return BlockAttention(
            queries: block, outputs: outputs, first: first, end: end, page: page, keyWidth: shape.keyWidth,
            valueWidth: shape.valueWidth, maxima: maxima, sums: sums, scratch: kernelScratch)
    }
}
