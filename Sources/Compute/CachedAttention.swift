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

    /// The first token that a token at `position` attends to.
    func oldest(seenFrom position: Int) -> Int {
        guard let window else { return 0 }
        return isChunked ? position / window * window : max(0, position - window + 1)
    }
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
    ///   - exact: Rows from this one on are multiplied as 16-bit integers, if the tier has kernels for that.
    ///   - output: `[rows, heads · valueWidth]`.
    package func attention(
        _ queries: Matrix, of step: Step, layer: Int, _ shape: AttentionShape, exact: Int = .max, into output: Matrix
    ) {
        guard let cached = step.segments.first?.state.shape.pages(of: layer) else { return }
        let fitsWords = cached.valueWidth % 16 == 0 && cached.keyWidth <= WordPage.mostWidth
        let words = fitsWords && exact < queries.rows ? kernels.wordAttention : nil
        let group = shape.heads / cached.heads
        let tileRows = max(1, (words == nil ? 64 : wordVectors(of: queries.rows * shape.heads, cached)) / group)
        let tiles = { (segment: Step.Segment) in (segment.rows.count + tileRows - 1) / tileRows }
        reserveScratch(
            floats: AttentionRows.scratchFloats(
                count: tileRows * group, keyWidth: cached.keyWidth, valueWidth: cached.valueWidth))
        timed(ProfiledPart(attentionOf: step, cached, shape, exact: words == nil ? .max : exact)) {
            pool.forEach(step.segments.reduce(0) { $0 + tiles($1) * cached.heads }) { item, worker in
                var (index, part) = (0, item)
                while part >= tiles(step.segments[index]) * cached.heads {
                    part -= tiles(step.segments[index]) * cached.heads
                    index += 1
                }
                let segment = step.segments[index]
                // The last tiles attend to the most tokens: start with them, so that small ones balance the load.
                let tile = tiles(segment) - 1 - part / cached.heads
                let first = segment.rows.lowerBound + tile * tileRows
                let rows = first..<min(first + tileRows, segment.rows.upperBound)
                QueryGroup(
                    kernels: kernels, shape: shape, layer: layer, cached: cached, segment: segment, rows: rows,
                    head: part % cached.heads, words: segment.rows.lowerBound < exact ? nil : words,
                    scratch: scratchOfWorker(worker)
                ).attend(queries, into: output)
            }
        }
    }
}

extension Compute {
    /// Query vectors of a tile, of `count` in all: each page is converted to integers once and read for all of them.
    ///
    /// So many that converting takes little of the time, but their state stays in the L2 cache, and each thread has
    /// some tiles.
    private func wordVectors(of count: Int, _ cached: StateShape.PagedLayer) -> Int {
        let inCache = (512 << 10) / (MemoryLayout<Float>.size * (cached.keyWidth + cached.valueWidth))
        return max(128, min(1024, inCache, count / (4 * pool.count)))
    }
}

extension KernelSet {
    /// Converts a head's page to floats, as it is stored.
    fileprivate func widen(
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
    fileprivate func rotateKey(_ key: UnsafeMutablePointer<Float>, _ cached: StateShape.PagedLayer) {
        guard cached.isLatent else { return rows.hadamard(key, cached.keyWidth) }
        rows.hadamard(key, cached.valueWidth)
        rows.hadamard(key + cached.valueWidth, cached.keyWidth - cached.valueWidth)
    }
}

/// The query heads of some rows that share one KV head.
private struct QueryGroup {
    let kernels: KernelSet
    let shape: AttentionShape
    let layer: Int
    let cached: StateShape.PagedLayer
    let segment: Step.Segment
    let rows: Range<Int>
    let head: Int
    let words: WordAttentionKernels?
    let scratch: UnsafeMutablePointer<Float>

    func attend(_ queries: Matrix, into output: Matrix) {
        let (keyWidth, valueWidth) = (cached.keyWidth, cached.valueWidth)
        let group = shape.heads / cached.heads
        let vectors = AttentionRows(
            kernels: kernels, words: words, count: rows.count * group, keyWidth: keyWidth, valueWidth: valueWidth,
            in: scratch)
        let start = segment.start + rows.lowerBound - segment.rows.lowerBound
        let images = segment.state.images
        func seenEnd(from position: Int) -> Int {
            images?.end(seenFromToken: position, hasWindow: shape.window != nil) ?? position + 1
        }
        for (index, row) in rows.enumerated() {
            let position = start + index
            let seen = shape.oldest(seenFrom: position)..<seenEnd(from: position)
            for member in 0..<group {
                let vector = index * group + member
                let query = queries[row] + (head * group + member) * keyWidth
                for d in 0..<keyWidth { query[d] *= shape.scale }
                // Products with rotated keys are those of the unrotated vectors.
                if cached.isRotated { kernels.rotateKey(query, cached) }
                vectors.set(
                    vector, query: query, output: output[row] + (head * group + member) * valueWidth,
                    slope: shape.slopes?[head * group + member] ?? 0, position: position, attendsTo: seen)
            }
        }
        vectors.start()
        let (softcap, bias) = (shape.softcap, shape.slopes != nil)
        let readsHalves = vectors.readsHalves && cached.quantizedPage == nil && !cached.isLatent
        let oldest = shape.oldest(seenFrom: start)
        let lastPage = (seenEnd(from: start + rows.count - 1) - 1) / pageTokens
        // Pages of which every row sees all tokens.
        let whole = wholePages(seenFrom: start...start + rows.count - 1)
        for page in oldest / pageTokens...lastPage {
            // The vectors see of such a page what they see of the one before.
            if bias || !whole.dropFirst().contains(page) { vectors.see(pageAt: page * pageTokens) }
            let next = part(min(page + 1, lastPage))
            if readsHalves {
                vectors.attendHalves(part(page), next: next, softcap: softcap, bias: bias)
            } else {
                widen(part(page), next: next, into: vectors.page)
                vectors.attend(softcap: softcap, bias: bias)
            }
        }
        if let compression = shape.compression {
            let compressed = segment.state.shape.compressedPages(of: layer)
            let lastCount = (start + rows.count) / compression
            for part in 0..<(lastCount + pageTokens - 1) / pageTokens {
                let base = part * pageTokens
                for index in 0..<rows.count {
                    let seen = (start + index + 1) / compression - base
                    for vector in index * group..<(index + 1) * group {
                        vectors.first[vector] = 0
                        vectors.end[vector] = Int32(min(max(seen, 0), pageTokens))
                    }
                }
                widen(compressed, compression, base..<min(base + pageTokens, lastCount), into: vectors.page)
                vectors.attend(softcap: softcap, bias: bias)
            }
        }
        if let sinks = shape.sinks {
            for vector in 0..<rows.count * group {
                vectors.add(sink: sinks[head * group + vector % group], to: vector)
            }
        }
        vectors.finish()
        guard cached.isRotated else { return }
        for row in rows {
            for member in 0..<group {
                kernels.rows.hadamard(output[row] + (head * group + member) * valueWidth, valueWidth)
            }
        }
    }

    private func wholePages(seenFrom positions: ClosedRange<Int>) -> Range<Int> {
        let first = (shape.oldest(seenFrom: positions.upperBound) + pageTokens - 1) / pageTokens
        return first..<max(first, (positions.lowerBound + 1) / pageTokens)
    }

    /// Converts up to 32 compressed vectors to a page of floats.
    private func widen(
        _ compressed: StateShape.PagedLayer, _ tokens: Int, _ vectors: Range<Int>,
        into destination: UnsafeMutablePointer<Float>
    ) {
        let width = compressed.keyWidth
        let values = destination + pageTokens * width
        for (place, vector) in vectors.enumerated() {
            let value = values + place * width
            kernels.dequantize(.F16, segment.state.compressed(vector, of: compressed, tokens: tokens), value, width)
            if cached.isRotated { kernels.rotateKey(value, cached) }
            for d in 0..<width { destination[d &* pageTokens &+ place] = value[d] }
        }
        // Kernels may read the rest of the page.
        for place in vectors.count..<pageTokens {
            (values + place * width).update(repeating: 0, count: width)
            for d in 0..<width { destination[d &* pageTokens &+ place] = 0 }
        }
    }

    /// The head's part of a page.
    private func part(_ page: Int) -> UnsafeRawPointer {
        UnsafeRawPointer(segment.state.page(page, of: cached) + head * cached.headBytes)
    }

    private func widen(_ part: UnsafeRawPointer, next: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>)
    {
        kernels.widen(part, cached, into: destination, next: next)
        guard cached.isLatent else { return }
        let values = destination + pageTokens * cached.keyWidth
        for token in 0..<pageTokens {
            for d in 0..<cached.valueWidth {
                values[token * cached.valueWidth + d] = destination[d * pageTokens + token]
            }
        }
    }
}
