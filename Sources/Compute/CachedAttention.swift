import Platform
import KernelFormats

/// Parameters of attention over the KV cache.
package struct AttentionShape: Sendable {
    /// Query heads; each group of `heads / KV heads` shares a KV head.
    package let heads: Int
    /// Factor on the scores: usually 1/√keyWidth.
    let scale: Float
    /// A token attends to itself and the `window − 1` tokens before it; `nil`: to all before it.
    let window: Int?
    /// Whether the window does not slide: a token attends to earlier tokens in its own chunk of `window` positions.
    package var isChunked = false
    /// Scores s become `softcap · tanh(s / softcap)`; 0: no softcap.
    var softcap: Float = 0
    /// Slope per head of the linear position bias, which lowers scores with distance (ALiBi); `nil`: none.
    var slopes: [Float]?
    /// An additional score per head, whose weight has no value (attention sinks, Xiao et al. 2024).
    var sinks: [Float]?
    /// Tokens per compressed vector: a token also attends to the vectors of all whole groups of so many tokens up to
    /// itself; `nil`: the layer has none.
    var compression: Int?

    package init(
        heads: Int, scale: Float, window: Int?, isChunked: Bool = false, softcap: Float = 0, slopes: [Float]? = nil,
        sinks: [Float]? = nil, compression: Int? = nil
    ) {
        self.heads = heads
        self.scale = scale
        self.window = window
        self.isChunked = isChunked
        self.softcap = softcap
        self.slopes = slopes
        self.sinks = sinks
        self.compression = compression
    }

    /// Whether a token attends to all tokens before it, and scores are products of queries and keys without changes.
    /// `ByteKeys` support nothing else.
    fileprivate var seesPlainScoresOfAllTokens: Bool {
        window == nil && compression == nil && softcap == 0 && slopes == nil
    }

    /// The first token that a token at `position` attends to.
    func oldest(seenFrom position: Int) -> Int {
        guard let window else { return 0 }
        return isChunked ? position / window * window : max(0, position - window + 1)
    }
}

/// Which rows' attention is computed in integers, if the tier has kernels for that, and in how many bits.
package struct AttentionPrecision: Sendable {
    /// The rows before this one are computed in floats.
    let exactRows: Int
    /// Whether scores are products of 8-bit integers instead of 16-bit ones; see `ByteKeys`.
    let hasByteScores: Bool

    package init(exactRows: Int, hasByteScores: Bool) {
        (self.exactRows, self.hasByteScores) = (exactRows, hasByteScores)
    }

    package static let floats = Self(exactRows: .max, hasByteScores: false)
}

extension Compute {
    /// Writes one layer's keys and values of this step into the sequences' pages.
    ///
    /// - Parameters:
    ///   - keys: `[rows, KV heads · keyWidth]`.
    ///   - values: `[rows, KV heads · valueWidth]`. `nil` if the layer's state is latent, with values inside the keys.
    package func store(_ keys: Matrix, _ values: Matrix?, of step: Step, layer: Int) {
        timed(ProfiledPart(name: "storing keys and values")) {
            for segment in step.segments {
                let cached = segment.state.shape.pages(of: layer)
                if cached.isRotated { reserveScratch(floats: cached.keyWidth + cached.storedValueWidth) }
                let end = segment.start + segment.rows.count
                let pages = segment.start / pageTokens..<(end + pageTokens - 1) / pageTokens
                // A token's key is spread over the lines of its page, which one worker writes.
                forEachItem(pages.count, serially: segment.rows.count <= pageTokens) { item, worker in
                    let page = pages.lowerBound + item
                    let positions = max(segment.start, page * pageTokens)..<min(end, (page + 1) * pageTokens)
                    for head in 0..<cached.heads {
                        let part = segment.state.page(page, of: cached) + head * cached.headBytes
                        for position in positions {
                            let row = segment.rows.lowerBound + position - segment.start
                            let key = keys[row] + head * cached.keyWidth
                            let value = values.map { $0[row] + head * cached.storedValueWidth } ?? key
                            store(key, value, cached, into: part, slot: position % pageTokens, scratchOfWorker(worker))
                        }
                    }
                }
            }
        }
    }

    /// - Parameter part: The head's part of a page.
    private func store(
        _ key: UnsafePointer<Float>, _ value: UnsafePointer<Float>, _ cached: StateShape.PagedLayer,
        into part: UnsafeMutableRawPointer, slot: Int, _ scratch: UnsafeMutablePointer<Float>
    ) {
        let (key, value) = cached.isRotated ? rotated(key, value, cached, scratch) : (key, value)
        if let layout = cached.quantizedPage {
            return kernels.rows.storeQuantized(key, value, part, layout, slot)
        }
        let (halves, keyWidth, valueWidth) = (
            part.assumingMemoryBound(to: UInt16.self), cached.keyWidth, cached.storedValueWidth
        )
        kernels.rows.storeHalf(key, halves + slot, pageTokens, keyWidth)
        kernels.rows.storeHalf(value, halves + pageTokens * keyWidth + slot * valueWidth, 1, valueWidth)
    }

    /// Copies a key and a value to `copy`, rotated.
    private func rotated(
        _ key: UnsafePointer<Float>, _ value: UnsafePointer<Float>, _ cached: StateShape.PagedLayer,
        _ copy: UnsafeMutablePointer<Float>
    ) -> (key: UnsafePointer<Float>, value: UnsafePointer<Float>) {
        copy.update(from: key, count: cached.keyWidth)
        kernels.rotateKey(copy, cached)
        guard !cached.isLatent else { return (UnsafePointer(copy), UnsafePointer(copy)) }
        let valueCopy = copy + cached.keyWidth
        valueCopy.update(from: value, count: cached.valueWidth)
        kernels.rows.hadamard(valueCopy, cached.valueWidth)
        return (UnsafePointer(copy), UnsafePointer(valueCopy))
    }

    /// Reads one layer's keys and values of a sequence, which `store` wrote: a row per token.
    ///
    /// - Parameters:
    ///   - keys: `[tokens, KV heads · keyWidth]`.
    ///   - values: `[tokens, KV heads · valueWidth]`.
    package func load(_ state: SequenceState, layer: Int, into keys: Matrix, _ values: Matrix) {
        let cached = state.shape.pages(of: layer)
        let (keyWidth, valueWidth) = (cached.keyWidth, cached.valueWidth)
        reserveScratch(floats: pageTokens * (keyWidth + valueWidth))
        pool.forEach((keys.rows + pageTokens - 1) / pageTokens * cached.heads) { item, worker in
            let (page, head) = (item / cached.heads, item % cached.heads)
            let widened = scratchOfWorker(worker)
            let part = UnsafeRawPointer(state.page(page, of: cached) + head * cached.headBytes)
            kernels.widen(part, cached, into: widened, next: part)
            for slot in 0..<min(pageTokens, keys.rows - page * pageTokens) {
                let row = page * pageTokens + slot
                for d in 0..<keyWidth { keys[row][head * keyWidth + d] = widened[d * pageTokens + slot] }
                (values[row] + head * valueWidth).update(
                    from: widened + pageTokens * keyWidth + slot * valueWidth, count: valueWidth)
                if cached.isRotated {
                    kernels.rotateKey(keys[row] + head * keyWidth, cached)
                    kernels.rows.hadamard(values[row] + head * valueWidth, valueWidth)
                }
            }
        }
    }

    /// Causal attention of every row over its own sequence, with the keys and values in the layer's state.
    ///
    /// - Parameters:
    ///   - queries: `[rows, heads · keyWidth]`; scaled, and rotated like the keys, in place.
    ///   - output: `[rows, heads · valueWidth]`.
    package func attention(
        _ queries: Matrix, of step: Step, layer: Int, _ shape: AttentionShape,
        _ precision: AttentionPrecision = .floats, into output: Matrix
    ) {
        guard let cached = step.segments.first?.state.shape.pages(of: layer) else { return }
        let fitsWords = cached.valueWidth % 16 == 0 && cached.keyWidth <= WordPage.mostWidth
        let exact = precision.exactRows
        let words = fitsWords && exact < queries.rows ? kernels.wordAttention : nil
        let hasByteKeys =
            words?.roundByteQueries != nil && precision.hasByteScores && shape.seesPlainScoresOfAllTokens
            && cached.hasPlainKeys
        let group = shape.heads / cached.heads
        let count = queries.rows * shape.heads
        let vectors = words == nil ? floatVectors(of: count, heads: cached.heads) : wordVectors(of: count, cached)
        let tileRows = max(1, vectors / group)
        let tiles = { (segment: Step.Segment) in (segment.rows.count + tileRows - 1) / tileRows }
        func queryGroup(
            _ segment: Step.Segment, _ rows: Range<Int>, head: Int, members: Range<Int>, worker: Int
        ) -> QueryGroup {
            let words = segment.rows.lowerBound < exact ? nil : words
            let queryHeads = head * group + members.lowerBound..<head * group + members.upperBound
            return QueryGroup(
                kernels: kernels, shape: shape, layer: layer, cached: cached, segment: segment, rows: rows, head: head,
                queryHeads: queryHeads, words: words, hasByteKeys: words != nil && hasByteKeys,
                scratch: scratchOfWorker(worker))
        }
        let (shared, apart) = sharedPages(of: step, cached, shape)
        let mostShared = shared.map { $0.vectors(group) }.max() ?? 0
        func floats(_ count: Int) -> Int {
            AttentionRows.scratchFloats(count: count, keyWidth: cached.keyWidth, valueWidth: cached.valueWidth)
        }
        reserveScratch(floats: floats(max(tileRows * group, mostShared)) + (shared.isEmpty ? 0 : floats(mostShared)))
        let tileCount = (shared.count + apart.reduce(0) { $0 + tiles($1) }) * cached.heads
        // Threads that would have no tile take some of a tile's query heads.
        let mostParts = max(1, min(group, pool.count / max(1, tileCount)))
        let membersOfPart = (group + mostParts - 1) / mostParts
        let parts = (group + membersOfPart - 1) / membersOfPart
        let used = words == nil ? .floats : AttentionPrecision(exactRows: exact, hasByteScores: hasByteKeys)
        timed(ProfiledPart(attentionOf: step, cached, shape, used)) {
            pool.forEach(tileCount * parts) { item, worker in
                var (index, part) = (0, item / parts)
                let first = item % parts * membersOfPart
                let members = first..<min(first + membersOfPart, group)
                if part < shared.count * cached.heads {
                    let (sharing, head) = (shared[part / cached.heads], part % cached.heads)
                    let groups = sharing.segments.map {
                        queryGroup($0, $0.rows, head: head, members: members, worker: worker)
                    }
                    return QueryGroup.attend(groups, sharing: sharing.pages, queries, into: output)
                }
                part -= shared.count * cached.heads
                while part >= tiles(apart[index]) * cached.heads {
                    part -= tiles(apart[index]) * cached.heads
                    index += 1
                }
                let segment = apart[index]
                // The last tiles attend to the most tokens: start with them, so that small ones balance the load.
                let tile = tiles(segment) - 1 - part / cached.heads
                let firstRow = segment.rows.lowerBound + tile * tileRows
                let rows = firstRow..<min(firstRow + tileRows, segment.rows.upperBound)
                queryGroup(segment, rows, head: part % cached.heads, members: members, worker: worker)
                    .attend(queries, into: output)
            }
        }
    }
}

/// Answers of sequences whose first `pages` pages are the same.
private struct SharedPages {
    var segments: [Step.Segment]
    var pages: Int

    /// Query vectors per KV head.
    func vectors(_ group: Int) -> Int { segments.reduce(0) { $0 + $1.rows.count } * group }
}

extension Compute {
    /// Least number of common pages, and of query vectors, for which it pays to read the pages once.
    private static let (leastPages, leastVectors) = (4, 16)

    /// Finds answers whose sequences have at least half of their pages in common.
    ///
    /// - Returns: Those, in parts of which each thread has some, and all other segments.
    private func sharedPages(
        of step: Step, _ cached: StateShape.PagedLayer, _ shape: AttentionShape
    ) -> (shared: [SharedPages], apart: [Step.Segment]) {
        let answers = step.segments.prefix { $0.rows.lowerBound < step.answerRows }
        guard answers.count > 1, shape.window == nil, shape.compression == nil else { return ([], step.segments) }
        let group = shape.heads / cached.heads
        var groups: [SharedPages] = []
        for segment in answers {
            let index = groups.firstIndex { sharesHalf($0.segments[0], segment, cached) }
            if let index {
                groups[index].pages = min(groups[index].pages, commonPages(groups[index].segments[0], segment, cached))
                groups[index].segments.append(segment)
            } else {
                groups.append(SharedPages(segments: [segment], pages: segment.start / pageTokens))
            }
        }
        var (shared, apart): ([SharedPages], [Step.Segment]) = ([], [])
        for found in groups {
            if found.segments.count > 1, found.vectors(group) >= Self.leastVectors {
                shared += parts(of: found, group, heads: cached.heads)
            } else {
                apart += found.segments
            }
        }
        return (shared, apart + step.segments.dropFirst(answers.count))
    }

    private func parts(of shared: SharedPages, _ group: Int, heads: Int) -> [SharedPages] {
        // The state of more vectors would leave the cache.
        let most = 128
        let count = max((shared.vectors(group) + most - 1) / most, (2 * pool.count + heads - 1) / heads)
        let least = (Self.leastVectors + group - 1) / group
        let size = max(least, (shared.segments.count + count - 1) / count)
        return stride(from: 0, to: shared.segments.count, by: size).map {
            let segments = shared.segments[$0..<min($0 + size, shared.segments.count)]
            return SharedPages(segments: Array(segments), pages: shared.pages)
        }
    }

    /// Whether both sequences have half of the longer one's pages, and `leastPages`, in common.
    private func sharesHalf(_ a: Step.Segment, _ b: Step.Segment, _ cached: StateShape.PagedLayer) -> Bool {
        let pages = max(Self.leastPages, (max(a.start, b.start) / pageTokens + 1) / 2)
        return pages * pageTokens <= min(a.start, b.start) && isSame(pages - 1, a, b, cached)
    }

    /// Whether a page is the same memory in both sequences. Then all before it are, too.
    private func isSame(_ page: Int, _ a: Step.Segment, _ b: Step.Segment, _ cached: StateShape.PagedLayer) -> Bool {
        a.state.page(page, of: cached) == b.state.page(page, of: cached)
    }

    /// Number of pages that are the same, of those before the step's tokens.
    private func commonPages(_ a: Step.Segment, _ b: Step.Segment, _ cached: StateShape.PagedLayer) -> Int {
        var (low, high) = (0, min(a.start, b.start) / pageTokens)
        while low < high {
            let middle = (low + high + 1) / 2
            if isSame(middle - 1, a, b, cached) { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// Query vectors of a tile that is computed in floats, of `count` in all: two blocks, which share the conversion of a page,
    /// or one if threads would wait otherwise. With a tile for each of three KV heads, one of two threads would wait half of
    /// the time.
    private func floatVectors(of count: Int, heads: Int) -> Int {
        let two = 2 * BlockAttention.rows
        let tiles = heads * ((count / heads + two - 1) / two)
        return tiles < 4 * pool.count && tiles % pool.count != 0 ? BlockAttention.rows : two
    }

    /// Query vectors of a tile, of `count` in all: each page is converted to integers once and read for all of them.
    ///
    /// So many that converting takes little of the time, but their state stays in the L2 cache, and each thread has
    /// some tiles.
    private func wordVectors(of count: Int, _ cached: StateShape.PagedLayer) -> Int {
        let inCache = (512 << 10) / (MemoryLayout<Float>.size * (cached.keyWidth + cached.valueWidth))
        return max(128, min(1024, inCache, count / (4 * pool.count)))
    }
}

extension StateShape.PagedLayer {
    /// Whether the keys can be converted to `ByteKeys`: they are not rotated yet.
    fileprivate var hasPlainKeys: Bool { !isRotated && !isLatent && ByteKeys.fits(keyWidth) }
}

extension KernelSet {
    /// Converts a head's page to floats, as it is stored.
    func widen(
        _ part: UnsafeRawPointer, _ cached: StateShape.PagedLayer, into destination: UnsafeMutablePointer<Float>,
        next: UnsafeRawPointer
    ) {
        if let layout = cached.quantizedPage {
            widenQuantized(part, layout, destination, next)
        } else {
            widenHalves(part, cached.keyWidth, cached.storedValueWidth, destination, next)
        }
    }

    /// Rotates a key or query, or rotates it back. Of a latent key the prefix that is the value is rotated apart.
    func rotateKey(_ key: UnsafeMutablePointer<Float>, _ cached: StateShape.PagedLayer) {
        guard cached.isLatent else { return rows.hadamard(key, cached.keyWidth) }
        rows.hadamard(key, cached.valueWidth)
        rows.hadamard(key + cached.valueWidth, cached.keyWidth - cached.valueWidth)
    }
}
