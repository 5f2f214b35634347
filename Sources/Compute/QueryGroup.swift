import KernelFormats
import Platform

/// Query heads of some rows that share one KV head, all of them or some.
struct QueryGroup {
    let kernels: KernelSet
    let shape: AttentionShape
    let layer: Int
    let cached: StateShape.PagedLayer
    let segment: Step.Segment
    let rows: Range<Int>
    let head: Int
    let queryHeads: Range<Int>
    let words: WordAttentionKernels?
    /// Whether `words` multiply keys of distant pages as bytes.
    let hasByteKeys: Bool
    let scratch: UnsafeMutablePointer<Float>

    private var vectorCount: Int { rows.count * queryHeads.count }
    /// Position of the first row.
    private var start: Int { segment.start + rows.lowerBound - segment.rows.lowerBound }

    func attend(_ queries: Matrix, into output: Matrix) {
        let vectors = makeVectors(vectorCount, in: scratch)
        set(vectors, at: 0, queries, output)
        vectors.start()
        attend(vectors, from: shape.oldest(seenFrom: start) / pageTokens)
        finish(vectors, output)
    }

    /// Attention of several groups of one head whose sequences have their first `pages` pages in common: those are read,
    /// and converted, once. The bits are those of each group alone.
    static func attend(_ groups: [QueryGroup], sharing pages: Int, _ queries: Matrix, into output: Matrix) {
        let count = groups.reduce(0) { $0 + $1.vectorCount }
        let all = groups[0].makeVectors(count, in: groups[0].scratch)
        var first = 0
        for group in groups {
            group.set(all, at: first, queries, output)
            first += group.vectorCount
        }
        all.start()
        groups[0].attend(all, in: 0..<pages)
        let (keyWidth, valueWidth) = (groups[0].cached.keyWidth, groups[0].cached.valueWidth)
        let rest =
            groups[0].scratch + AttentionRows.scratchFloats(count: count, keyWidth: keyWidth, valueWidth: valueWidth)
        first = 0
        for group in groups {
            let vectors = group.makeVectors(group.vectorCount, in: rest)
            vectors.take(from: all, at: first)
            group.attend(vectors, from: pages)
            group.finish(vectors, output)
            first += group.vectorCount
        }
    }

    private func makeVectors(_ count: Int, in scratch: UnsafeMutablePointer<Float>) -> AttentionRows {
        AttentionRows(
            kernels: kernels, words: words, count: count, keyWidth: cached.keyWidth, valueWidth: cached.valueWidth,
            in: scratch)
    }

    private func seenEnd(from position: Int) -> Int {
        segment.state.media?.end(seenFromToken: position, hasWindow: shape.window != nil) ?? position + 1
    }

    /// Sets the vectors from `first` on to this group's queries, which are scaled, and rotated like the keys.
    private func set(_ vectors: AttentionRows, at first: Int, _ queries: Matrix, _ output: Matrix) {
        let keyWidth = cached.keyWidth
        for (index, row) in rows.enumerated() {
            let position = start + index
            let seen = shape.oldest(seenFrom: position)..<seenEnd(from: position)
            for (member, queryHead) in queryHeads.enumerated() {
                let query = queries[row] + queryHead * keyWidth
                for d in 0..<keyWidth { query[d] *= shape.scale }
                // Products with rotated keys are those of the unrotated vectors.
                if cached.isRotated { kernels.rotateKey(query, cached) }
                vectors.set(
                    first + index * queryHeads.count + member, query: query,
                    output: output[row] + queryHead * cached.valueWidth, slope: shape.slopes?[queryHead] ?? 0,
                    position: position, attendsTo: seen)
            }
        }
    }

    /// Adds the pages from `first` on that the rows see, and compressed vectors.
    private func attend(_ vectors: AttentionRows, from first: Int) {
        let lastPage = (seenEnd(from: start + rows.count - 1) - 1) / pageTokens
        attend(vectors, in: first..<lastPage + 1)
        attendCompressed(vectors)
    }

    private func attend(_ vectors: AttentionRows, in pages: Range<Int>) {
        let (softcap, bias) = (shape.softcap, shape.slopes != nil)
        let readsHalves = vectors.readsHalves && cached.quantizedPage == nil && !cached.isLatent
        func attend(_ page: Int, asBytes: Bool) {
            let next = part(min(page + 1, pages.upperBound - 1))
            if readsHalves {
                vectors.attendHalves(part(page), asBytes: asBytes, next: next, softcap: softcap, bias: bias)
            } else {
                widen(part(page), next: next, into: vectors.page)
                vectors.attend(asBytes: asBytes, softcap: softcap, bias: bias)
            }
        }
        // Pages of which every row sees all tokens, and those whose keys are bytes for every row, and for the last one.
        let whole = wholePages(seenFrom: start...start + rows.count - 1).clamped(to: pages)
        let asBytes = hasByteKeys ? ByteKeys.pages(seenFrom: start) : 0..<0
        let lastAsBytes = hasByteKeys ? ByteKeys.pages(seenFrom: start + rows.count - 1) : 0..<0
        if !lastAsBytes.isEmpty {
            widen(part(0), next: part(0), into: vectors.page)
            vectors.startBytes()
        }
        for page in pages {
            if lastAsBytes.contains(page), !asBytes.contains(page) {
                for asBytes in [true, false] {
                    vectors.see(page, asBytes: asBytes)
                    attend(page, asBytes: asBytes)
                }
                continue
            }
            // The vectors see of a whole page what they see of the one before, unless that had rows of both kinds.
            if bias || !whole.dropFirst().contains(page) || page == lastAsBytes.upperBound { vectors.see(page) }
            attend(page, asBytes: asBytes.contains(page))
        }
    }

    private func attendCompressed(_ vectors: AttentionRows) {
        guard let compression = shape.compression else { return }
        let compressed = segment.state.shape.compressedPages(of: layer)
        let lastCount = (start + rows.count) / compression
        for part in 0..<(lastCount + pageTokens - 1) / pageTokens {
            let base = part * pageTokens
            for index in 0..<rows.count {
                let seen = (start + index + 1) / compression - base
                for vector in index * queryHeads.count..<(index + 1) * queryHeads.count {
                    vectors.first[vector] = 0
                    vectors.end[vector] = Int32(min(max(seen, 0), pageTokens))
                }
            }
            widen(compressed, compression, base..<min(base + pageTokens, lastCount), into: vectors.page)
            vectors.attend(asBytes: false, softcap: shape.softcap, bias: shape.slopes != nil)
        }
    }

    /// Adds the weights without values and writes the results.
    private func finish(_ vectors: AttentionRows, _ output: Matrix) {
        if let sinks = shape.sinks {
            for vector in 0..<vectorCount {
                vectors.add(sink: sinks[queryHeads.lowerBound + vector % queryHeads.count], to: vector)
            }
        }
        vectors.finish()
        guard cached.isRotated else { return }
        for row in rows {
            for queryHead in queryHeads {
                kernels.rows.hadamard(output[row] + queryHead * cached.valueWidth, cached.valueWidth)
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
