import KernelFormats
import Platform

/// The running state of query vectors that attend to the same pages, in a worker's scratch.
///
/// Many vectors are kept side by side, in blocks of 32, if the tier has a kernel for blocks; others apart. Those that are
/// multiplied as 16-bit integers are always in blocks.
struct AttentionRows {
    private let kernels: KernelSet
    private let keyWidth: Int
    private let valueWidth: Int
    private let count: Int
    private let isBlocked: Bool
    private let words: WordAttentionKernels?
    private let queries: UnsafeMutablePointer<UnsafePointer<Float>>
    private let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    /// Each vector's position, the first position that it attends to, and the end of those positions.
    private let positions: UnsafeMutablePointer<Int32>
    private let oldest: UnsafeMutablePointer<Int32>
    private let seenEnds: UnsafeMutablePointer<Int32>
    /// The tokens of the current page that each vector attends to.
    let first: UnsafeMutablePointer<Int32>
    let end: UnsafeMutablePointer<Int32>
    /// Linear bias: slopes, and the position of the page's first token minus that of the vector.
    private let slopes: UnsafeMutablePointer<Float>
    private let offsets: UnsafeMutablePointer<Float>
    private let maxima: UnsafeMutablePointer<Float>
    private let sums: UnsafeMutablePointer<Float>
    /// Of each block, its queries `[D][32]`, then its outputs `[Dv][32]`. `start` turns the queries into integers.
    private let blocks: UnsafeMutablePointer<Float>
    /// The scales of queries that are integers.
    private let scales: UnsafeMutablePointer<Float>
    /// Room for a page as floats, and as integers.
    let page: UnsafeMutablePointer<Float>
    private let wordPage: WordPage
    private let kernelScratch: UnsafeMutablePointer<Float>

    /// Rows for which the scratch of a kernel has room: two blocks.
    private static let kernelRows = max(attendRows, 2 * BlockAttention.rows)
    /// Number of vectors from which on a block pays.
    private static let leastOfBlock = 16
    /// Number of vectors up to which it pays to convert a page for each four of them, without storing it.
    private static let mostOfHalves = 8

    private static func padded(_ count: Int) -> Int {
        (count + BlockAttention.rows - 1) / BlockAttention.rows * BlockAttention.rows
    }

    /// Floats of scratch for up to `count` vectors.
    static func scratchFloats(count: Int, keyWidth: Int, valueWidth: Int) -> Int {
        padded(count) * (14 + keyWidth + valueWidth)
            + pageTokens * (keyWidth + valueWidth + kernelRows)
            + WordPage.count(keyWidth: keyWidth, valueWidth: valueWidth)
    }

    /// - Parameter words: To multiply the vectors as 16-bit integers; `nil`: as floats.
    init(
        kernels: KernelSet, words: WordAttentionKernels?, count: Int, keyWidth: Int, valueWidth: Int,
        in scratch: UnsafeMutablePointer<Float>
    ) {
        (self.kernels, self.words) = (kernels, words)
        (self.count, self.keyWidth, self.valueWidth) = (count, keyWidth, valueWidth)
        isBlocked =
            words != nil || kernels.attendBlock != nil && count >= Self.leastOfBlock && valueWidth % 16 == 0
        let (raw, rows) = (UnsafeMutableRawPointer(scratch), Self.padded(count))
        queries = raw.bindMemory(to: UnsafePointer<Float>.self, capacity: rows)
        outputs = (raw + 8 * rows).bindMemory(to: UnsafeMutablePointer<Float>.self, capacity: rows)
        first = (raw + 16 * rows).bindMemory(to: Int32.self, capacity: rows)
        end = (raw + 20 * rows).bindMemory(to: Int32.self, capacity: rows)
        slopes = scratch + 6 * rows
        offsets = scratch + 7 * rows
        maxima = scratch + 8 * rows
        sums = scratch + 9 * rows
        scales = scratch + 10 * rows
        positions = (raw + 44 * rows).bindMemory(to: Int32.self, capacity: rows)
        oldest = positions + rows
        seenEnds = oldest + rows
        blocks = scratch + 14 * rows
        page = blocks + rows * (keyWidth + valueWidth)
        kernelScratch = page + pageTokens * (keyWidth + valueWidth)
        wordPage = WordPage(
            kernelScratch + pageTokens * Self.kernelRows, keyWidth: keyWidth,
            valueWidth: valueWidth)
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
    ///   - tokens: The positions that it attends to.
    func set(
        _ index: Int, query: UnsafePointer<Float>, output: UnsafeMutablePointer<Float>, slope: Float, position: Int,
        attendsTo tokens: Range<Int>
    ) {
        (queries[index], outputs[index], slopes[index]) = (query, output, slope)
        (positions[index], oldest[index], seenEnds[index]) = (
            Int32(position), Int32(tokens.lowerBound), Int32(tokens.upperBound)
        )
    }

    /// To be called when all vectors are set.
    func start() {
        guard isBlocked else {
            for index in 0..<count { outputs[index].update(repeating: 0, count: valueWidth) }
            return
        }
        forEachFour { index, block, row in
            let column = UnsafeMutableRawPointer(blockQueries(block) + row)
            let (q0, q1, q2, q3) = (queries[index], queries[index + 1], queries[index + 2], queries[index + 3])
            for d in 0..<keyWidth {
                let four = SIMD4(q0[d], q1[d], q2[d], q3[d])
                column.storeBytes(of: four, toByteOffset: 4 &* BlockAttention.rows &* d, as: SIMD4<Float>.self)
            }
        } one: { index, block, row in
            let (column, query) = (blockQueries(block) + row, queries[index])
            for d in 0..<keyWidth { column[d &* BlockAttention.rows] = query[d] }
        }
        guard let words else { return }
        for first in stride(from: 0, to: count, by: BlockAttention.rows) {
            words.roundQueries(blockQueries(first / BlockAttention.rows), keyWidth, scales + first)
        }
    }

    /// To be called before the first page of `ByteKeys`, with the sequence's first page in `page`.
    func startBytes() {
        guard let roundByteQueries = words?.roundByteQueries else { return }
        for d in 0..<keyWidth {
            let row = UnsafeBufferPointer(start: page + d * pageTokens, count: pageTokens)
            wordPage.keyBase[d] = row.reduce(0, +) / Float(pageTokens)
        }
        for first in stride(from: 0, to: count, by: BlockAttention.rows) {
            let queries = ByteQueries(after: blockQueries(first / BlockAttention.rows), width: keyWidth)
            roundByteQueries(queries, scales + first, wordPage.keyBase, wordPage.keyRoom)
        }
    }

    /// Continues vectors of `other`, those from `offset` on: what is set of them, and their running state.
    func take(from other: AttentionRows, at offset: Int) {
        for index in 0..<count {
            let source = offset + index
            (queries[index], outputs[index]) = (other.queries[source], other.outputs[source])
            (slopes[index], positions[index]) = (other.slopes[source], other.positions[source])
            (oldest[index], seenEnds[index]) = (other.oldest[source], other.seenEnds[source])
            (maxima[index], sums[index]) = (other.maxima[source], other.sums[source])
        }
        if isBlocked { start() }
        guard isBlocked || other.isBlocked else { return }  // both keep their outputs where the results will be
        for index in 0..<count {
            let (target, source) = (runningOutput(index), other.runningOutput(offset + index))
            for d in 0..<valueWidth { target.first[d &* target.stride] = source.first[d &* source.stride] }
        }
    }

    /// Where the components of a vector's output so far are.
    private func runningOutput(_ index: Int) -> (first: UnsafeMutablePointer<Float>, stride: Int) {
        guard isBlocked else { return (outputs[index], 1) }
        let (block, row) = index.quotientAndRemainder(dividingBy: BlockAttention.rows)
        return (blockOutputs(block) + row, BlockAttention.rows)
    }

    /// Calls `four` for each four vectors, and `one` for those that are left, with their block and their row in it.
    private func forEachFour(
        _ four: (_ index: Int, _ block: Int, _ row: Int) -> Void, one: (_ index: Int, _ block: Int, _ row: Int) -> Void
    ) {
        for index in stride(from: 0, to: count, by: 4) {
            let (block, row) = index.quotientAndRemainder(dividingBy: BlockAttention.rows)
            if index + 4 <= count {
                four(index, block, row)
            } else {
                for offset in 0..<count - index { one(index + offset, block, row + offset) }
            }
        }
    }

    /// Makes a page the current one: sets the tokens of it that each vector attends to.
    func see(_ page: Int) {
        let (start, size) = (Int32(page * pageTokens), Int32(pageTokens))
        for index in 0..<count {
            first[index] = min(max(oldest[index] &- start, 0), size)
            end[index] = min(max(seenEnds[index] &- start, 0), size)
            offsets[index] = Float(start &- positions[index])
        }
    }

    /// The same, but vectors for which the page's keys are not bytes, or are not `asBytes`, attend to none.
    func see(_ page: Int, asBytes: Bool) {
        see(page)
        for index in 0..<count {
            let isByte = ByteKeys.pages(seenFrom: Int(positions[index])).contains(page)
            if isByte != asBytes { (first[index], end[index]) = (0, 0) }
        }
    }

    private func blockQueries(_ block: Int) -> UnsafeMutablePointer<Float> {
        blocks + block * BlockAttention.rows * (keyWidth + valueWidth)
    }

    private func blockOutputs(_ block: Int) -> UnsafeMutablePointer<Float> {
        blockQueries(block) + BlockAttention.rows * keyWidth
    }

    /// Whether `attendHalves` can be called instead of converting a page of halves and calling `attend`.
    var readsHalves: Bool {
        words != nil || kernels.attendHalves != nil && count <= Self.mostOfHalves && valueWidth % 16 == 0
    }

    /// Adds the page, as floats.
    ///
    /// - Parameters:
    ///   - asBytes: Whether its keys become `ByteKeys`.
    ///   - bias: Whether there is a linear bias.
    func attend(asBytes: Bool, softcap: Float, bias: Bool) {
        if let words {
            let target = asBytes ? bytePage : wordPage
            words.roundPage(page, target)
            return attend(words, target, softcap, bias)
        }
        guard isBlocked, let attendBlock = kernels.attendBlock else {
            return kernels.attendPage(pageAttention(softcap, bias))
        }
        for first in stride(from: 0, to: count, by: BlockAttention.rows) {
            let block = first / BlockAttention.rows
            attendBlock(
                BlockAttention(
                    queries: blockQueries(block), outputs: blockOutputs(block), first: self.first + first,
                    end: end + first, page: page, keyWidth: keyWidth, valueWidth: valueWidth, maxima: maxima + first,
                    sums: sums + first, scratch: kernelScratch, changes: changes(softcap, bias).from(first)))
        }
    }

    /// `wordPage` with `ByteKeys`.
    private var bytePage: WordPage {
        WordPage(wordPage.base, keyWidth: keyWidth, valueWidth: valueWidth, hasByteKeys: true)
    }

    private func attend(_ words: WordAttentionKernels, _ page: WordPage, _ softcap: Float, _ bias: Bool) {
        let size = BlockAttention.rows
        func seesPage(_ block: Int) -> Bool {
            (size * block..<size * (block + 1)).contains { first[$0] < end[$0] }
        }
        let blocks = (count + size - 1) / size
        var next = 0
        while next < blocks {
            defer { next += 1 }
            let start = next
            while next < blocks, seesPage(next) { next += 1 }
            guard next > start else { continue }
            let row = size * start
            words.attend(
                WordAttention(
                    count: next - start, stride: size * (keyWidth + valueWidth), queries: blockQueries(start),
                    scales: scales + row, outputs: blockOutputs(start), first: first + row, end: end + row, page: page,
                    maxima: maxima + row, sums: sums + row, scratch: kernelScratch,
                    changes: changes(softcap, bias).from(row)))
        }
    }

    /// Changes of all vectors' scores.
    private func changes(_ softcap: Float, _ bias: Bool) -> ScoreChanges {
        ScoreChanges(softcap: softcap, slopes: bias ? UnsafePointer(slopes) : nil, offsets: offsets)
    }

    /// Adds a page of halves; see `readsHalves`.
    func attendHalves(
        _ page: UnsafeRawPointer, asBytes: Bool, next: UnsafeRawPointer, softcap: Float, bias: Bool
    ) {
        if let words {
            let target = asBytes ? bytePage : wordPage
            words.roundHalves(page, target, next)
            return attend(words, target, softcap, bias)
        }
        kernels.attendHalves?(pageAttention(softcap, bias), page, next)
    }

    private func pageAttention(_ softcap: Float, _ bias: Bool) -> PageAttention {
        PageAttention(
            queries: queries, outputs: outputs, first: first, end: end, rows: count, page: page, keyWidth: keyWidth,
            valueWidth: valueWidth, maxima: maxima, sums: sums, scratch: kernelScratch,
            changes: changes(softcap, bias))
    }

    /// Adds a weight without a value to vector `index` (an attention sink).
    func add(sink: Float, to index: Int) {
        sums[index] += words == nil ? exp(sink - maxima[index]) : exp2(sink * Float(1.442_695_04) - maxima[index])
    }

    /// Writes the normalized results.
    func finish() {
        guard isBlocked else {
            for index in 0..<count {
                let (output, scale) = (outputs[index], 1 / sums[index])
                for d in 0..<valueWidth { output[d] *= scale }
            }
            return
        }
        forEachFour { index, block, row in
            let column = UnsafeRawPointer(blockOutputs(block) + row)
            let (o0, o1, o2, o3) = (outputs[index], outputs[index + 1], outputs[index + 2], outputs[index + 3])
            let scales = 1 / SIMD4(sums[index], sums[index + 1], sums[index + 2], sums[index + 3])
            for d in stride(from: 0, to: valueWidth, by: 4) {
                @inline(__always)
                func component(_ d: Int) -> SIMD4<Float> {
                    column.loadUnaligned(fromByteOffset: 4 &* BlockAttention.rows &* d, as: SIMD4<Float>.self) * scales
                }
                let low = SIMD8(lowHalf: component(d), highHalf: component(d &+ 1))
                let high = SIMD8(lowHalf: component(d &+ 2), highHalf: component(d &+ 3))
                // Of the first and the third vector, of the others.
                let even = SIMD8(lowHalf: low.evenHalf, highHalf: high.evenHalf)
                let odd = SIMD8(lowHalf: low.oddHalf, highHalf: high.oddHalf)
                store(even.evenHalf, o0 + d)
                store(odd.evenHalf, o1 + d)
                store(even.oddHalf, o2 + d)
                store(odd.oddHalf, o3 + d)
            }
        } one: { index, block, row in
            let (output, column, scale) = (outputs[index], blockOutputs(block) + row, 1 / sums[index])
            for d in 0..<valueWidth { output[d] = column[d &* BlockAttention.rows] * scale }
        }
    }
}

@inline(__always)
private func store(_ four: SIMD4<Float>, _ target: UnsafeMutablePointer<Float>) {
    UnsafeMutableRawPointer(target).storeBytes(of: four, as: SIMD4<Float>.self)
}
