import KernelFormats
import Platform

/// The running state of query vectors that attend to the same pages, in a worker's scratch.
///
/// Many vectors are kept side by side, in blocks of 32, if the tier has a kernel for blocks; others apart.
struct AttentionRows {
    private let kernels: KernelSet
    private let keyWidth: Int
    private let valueWidth: Int
    private let count: Int
    private let isBlocked: Bool
    private let queries: UnsafeMutablePointer<UnsafePointer<Float>>
    private let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    /// The tokens of the current page that each vector attends to.
    let first: UnsafeMutablePointer<Int32>
    let end: UnsafeMutablePointer<Int32>
    /// Linear bias: slopes, and the position of the page's first token minus that of the vector.
    private let slopes: UnsafeMutablePointer<Float>
    let offsets: UnsafeMutablePointer<Float>
    private let maxima: UnsafeMutablePointer<Float>
    private let sums: UnsafeMutablePointer<Float>
    /// Of each block, its queries `[D][32]`, then its outputs `[Dv][32]`.
    private let blocks: UnsafeMutablePointer<Float>
    /// Room for a page as floats.
    let page: UnsafeMutablePointer<Float>
    private let kernelScratch: UnsafeMutablePointer<Float>

    /// Number of vectors from which on a block pays.
    private static let leastOfBlock = 16
    /// Number of vectors up to which it pays to convert a page for each four of them, without storing it.
    private static let mostOfHalves = 8

    private static func padded(_ count: Int) -> Int {
        (count + BlockAttention.rows - 1) / BlockAttention.rows * BlockAttention.rows
    }

    /// Floats of scratch for up to `count` vectors.
    static func scratchFloats(count: Int, keyWidth: Int, valueWidth: Int) -> Int {
        padded(count) * (10 + keyWidth + valueWidth)
            + pageTokens * (keyWidth + valueWidth + max(attendRows, BlockAttention.rows))
    }

    init(
        kernels: KernelSet, count: Int, keyWidth: Int, valueWidth: Int, in scratch: UnsafeMutablePointer<Float>
    ) {
        (self.kernels, self.count, self.keyWidth, self.valueWidth) = (kernels, count, keyWidth, valueWidth)
        isBlocked = kernels.attendBlock != nil && count >= Self.leastOfBlock && valueWidth % 16 == 0
        let (raw, rows) = (UnsafeMutableRawPointer(scratch), Self.padded(count))
        queries = raw.bindMemory(to: UnsafePointer<Float>.self, capacity: rows)
        outputs = (raw + 8 * rows).bindMemory(to: UnsafeMutablePointer<Float>.self, capacity: rows)
        first = (raw + 16 * rows).bindMemory(to: Int32.self, capacity: rows)
        end = (raw + 20 * rows).bindMemory(to: Int32.self, capacity: rows)
        slopes = scratch + 6 * rows
        offsets = scratch + 7 * rows
        maxima = scratch + 8 * rows
        sums = scratch + 9 * rows
        blocks = scratch + 10 * rows
        page = blocks + rows * (keyWidth + valueWidth)
        kernelScratch = page + pageTokens * (keyWidth + valueWidth)
        maxima.update(repeating: -.infinity, count: rows)
        sums.update(repeating: 0, count: rows)
        // Vectors that only fill a block up see no tokens.
        first.update(repeating: 0, count: rows)
        end.update(repeating: 0, count: rows)
        if isBlocked { blocks.update(repeating: 0, count: rows * (keyWidth + valueWidth)) }
    }

    /// Sets vector `index`.
    ///
    /// - Parameters:
    ///   - query: Already scaled, and rotated like the keys.
    ///   - output: Where `finish` writes the result.
    func set(_ index: Int, query: UnsafePointer<Float>, output: UnsafeMutablePointer<Float>, slope: Float) {
        (queries[index], outputs[index], slopes[index]) = (query, output, slope)
        if isBlocked {
            let (block, row) = index.quotientAndRemainder(dividingBy: BlockAttention.rows)
            let column = blockQueries(block) + row
            for d in 0..<keyWidth { column[d &* BlockAttention.rows] = query[d] }
        } else {
            output.update(repeating: 0, count: valueWidth)
        }
    }

    private func blockQueries(_ block: Int) -> UnsafeMutablePointer<Float> {
        blocks + block * BlockAttention.rows * (keyWidth + valueWidth)
    }

    private func blockOutputs(_ block: Int) -> UnsafeMutablePointer<Float> {
        blockQueries(block) + BlockAttention.rows * keyWidth
    }

    /// Whether `attendHalves` can be called instead of converting a page of halves and calling `attend`.
    var readsHalves: Bool { kernels.attendHalves != nil && count <= Self.mostOfHalves && valueWidth % 16 == 0 }

    /// Adds the page, as floats.
    ///
    /// - Parameter bias: Whether there is a linear bias.
    func attend(softcap: Float, bias: Bool) {
        guard isBlocked, let attendBlock = kernels.attendBlock else {
            return kernels.attendPage(pageAttention(softcap, bias))
        }
        for first in stride(from: 0, to: count, by: BlockAttention.rows) {
            let block = first / BlockAttention.rows
            attendBlock(
                BlockAttention(
                    queries: blockQueries(block), outputs: blockOutputs(block), first: self.first + first,
                    end: end + first, page: page, keyWidth: keyWidth, valueWidth: valueWidth, maxima: maxima + first,
                    sums: sums + first, scratch: kernelScratch,
                    changes: ScoreChanges(
                        softcap: softcap, slopes: bias ? UnsafePointer(slopes + first) : nil, offsets: offsets + first)
                ))
        }
    }

    /// Adds a page of halves; see `readsHalves`.
    func attendHalves(_ page: UnsafeRawPointer, next: UnsafeRawPointer, softcap: Float, bias: Bool) {
        kernels.attendHalves?(pageAttention(softcap, bias), page, next)
    }

    private func pageAttention(_ softcap: Float, _ bias: Bool) -> PageAttention {
        PageAttention(
            queries: queries, outputs: outputs, first: first, end: end, rows: count, page: page, keyWidth: keyWidth,
            valueWidth: valueWidth, maxima: maxima, sums: sums, scratch: kernelScratch,
            changes: ScoreChanges(softcap: softcap, slopes: bias ? UnsafePointer(slopes) : nil, offsets: offsets))
    }

    /// Adds a weight without a value to vector `index` (an attention sink).
    func add(sink: Float, to index: Int) { sums[index] += exp(sink - maxima[index]) }

    /// Writes the normalized result of vector `index` and returns it.
    func finish(_ index: Int) -> UnsafeMutablePointer<Float> {
        let (output, scale) = (outputs[index], 1 / sums[index])
        if isBlocked {
            let (block, row) = index.quotientAndRemainder(dividingBy: BlockAttention.rows)
            let column = blockOutputs(block) + row
            for d in 0..<valueWidth { output[d] = column[d &* BlockAttention.rows] * scale }
        } else {
            for d in 0..<valueWidth { output[d] *= scale }
        }
        return output
    }
}
