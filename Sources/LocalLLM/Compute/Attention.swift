import KernelFormats
import KernelsPortable

/// How a model's attention layer looks at what came before.
struct AttentionShape: Sendable {
    /// Query heads; each group of `heads / cache.heads` shares a key and value head.
    let heads: Int
    var cache: KVShape
    /// Multiplies the scores: usually 1/√keyWidth.
    let scale: Float
    /// A token sees itself and the `window − 1` tokens before it; `nil`: all of them.
    let window: Int?
}

extension Compute {
    /// Writes this step's keys and values of one layer into the caches.
    ///
    /// - Parameters:
    ///   - keys: `[rows, KV heads · keyWidth]`.
    ///   - values: `[rows, KV heads · valueWidth]`.
    func store(_ keys: Matrix, _ values: Matrix, of step: Step, layer: Int) {
        for segment in step.segments {
            let shape = segment.cache.shape
            for row in segment.rows {
                let position = segment.start + row - segment.rows.lowerBound
                let (page, slot) = (position / pageTokens, position % pageTokens)
                for head in 0..<shape.heads {
                    let (key, value) = (keys[row] + head * shape.keyWidth, values[row] + head * shape.valueWidth)
                    let part = segment.cache.part(page: page, layer: layer, head: head)
                    switch shape.format {
                    case .f16:
                        let halves = part.assumingMemoryBound(to: UInt16.self)
                        storeHalf(key, into: halves + slot, stride: pageTokens, count: shape.keyWidth)
                        storeHalf(
                            value, into: halves + pageTokens * shape.keyWidth + slot * shape.valueWidth, stride: 1,
                            count: shape.valueWidth)
                    case .q8_0: storeBytes(key: key, value: value, in: part, shape.bytePage, token: slot)
                    }
                }
            }
        }
    }

    /// Causal attention of every row over its own sequence.
    ///
    /// - Parameters:
    ///   - queries: `[rows, heads · keyWidth]`; scaled in place.
    ///   - output: `[rows, heads · valueWidth]`.
    func attention(_ queries: Matrix, of step: Step, layer: Int, _ shape: AttentionShape, into output: Matrix) {
        let group = shape.heads / shape.cache.heads
        // About 64 query vectors a tile: a page is converted once and read for all of them.
        let tileRows = max(1, 64 / group)
        let tiles = { (segment: Step.Segment) in (segment.rows.count + tileRows - 1) / tileRows }
        reserveScratch(floats: Tile.scratchFloats(shape, vectors: tileRows * group))
        pool.forEach(step.segments.reduce(0) { $0 + tiles($1) * shape.cache.heads }) { piece, worker in
            var (index, part) = (0, piece)
            while part >= tiles(step.segments[index]) * shape.cache.heads {
                part -= tiles(step.segments[index]) * shape.cache.heads
                index += 1
            }
            let segment = step.segments[index]
            // The last tiles see the most tokens: begin with them, so that the small ones even out the end.
            let tile = tiles(segment) - 1 - part / shape.cache.heads
            let first = segment.rows.lowerBound + tile * tileRows
            let rows = first..<min(first + tileRows, segment.rows.upperBound)
            Tile(
                kernels: kernels, shape: shape, segment: segment, rows: rows, layer: layer,
                head: part % shape.cache.heads, scratch: scratchOfWorker(worker)
            ).attend(queries, into: output)
        }
    }
}

/// Some rows' query heads that share one KV head.
private struct Tile {
    let kernels: KernelSet
    let shape: AttentionShape
    let segment: Step.Segment
    let rows: Range<Int>
    let layer: Int
    let head: Int
    let scratch: UnsafeMutablePointer<Float>

    /// Running state and pointers of each vector, then a page as floats and what the kernel needs.
    static func scratchFloats(_ shape: AttentionShape, vectors: Int) -> Int {
        8 * vectors + pageTokens * (shape.cache.keyWidth + shape.cache.valueWidth + attendRows)
    }

    func attend(_ queries: Matrix, into output: Matrix) {
        let (keyWidth, valueWidth) = (shape.cache.keyWidth, shape.cache.valueWidth)
        let group = shape.heads / shape.cache.heads
        let vectors = rows.count * group
        let raw = UnsafeMutableRawPointer(scratch)
        let q = raw.bindMemory(to: UnsafePointer<Float>.self, capacity: vectors)
        let o = (raw + 8 * vectors).bindMemory(to: UnsafeMutablePointer<Float>.self, capacity: vectors)
        let first = (raw + 16 * vectors).bindMemory(to: Int32.self, capacity: vectors)
        let end = (raw + 20 * vectors).bindMemory(to: Int32.self, capacity: vectors)
        let maxima = (raw + 24 * vectors).bindMemory(to: Float.self, capacity: vectors)
        let sums = (raw + 28 * vectors).bindMemory(to: Float.self, capacity: vectors)
        let floatsOfPage = pageTokens * (keyWidth + valueWidth)
        let widened = (raw + 32 * vectors).bindMemory(
            to: Float.self, capacity: floatsOfPage + pageTokens * attendRows)

        for (index, row) in rows.enumerated() {
            for member in 0..<group {
                let vector = index * group + member
                let query = queries[row] + (head * group + member) * keyWidth
                for d in 0..<keyWidth { query[d] *= shape.scale }
                let out = output[row] + (head * group + member) * valueWidth
                out.update(repeating: 0, count: valueWidth)
                (q[vector], o[vector]) = (UnsafePointer(query), out)
                (maxima[vector], sums[vector]) = (-.infinity, 0)
            }
        }
        let start = segment.start + rows.lowerBound - segment.rows.lowerBound
        let oldest = shape.window.map { max(0, start - $0 + 1) } ?? 0
        let lastPage = (start + rows.count - 1) / pageTokens
        for page in oldest / pageTokens...lastPage {
            for (index, position) in (start..<start + rows.count).enumerated() {
                let from = shape.window.map { max(0, position - $0 + 1) } ?? 0
                for vector in index * group..<(index + 1) * group {
                    first[vector] = Int32(min(max(from - page * pageTokens, 0), pageTokens))
                    end[vector] = Int32(min(max(position + 1 - page * pageTokens, 0), pageTokens))
                }
            }
            widen(page, next: min(page + 1, lastPage), into: widened)
            kernels.attendPage(
                q, o, first, end, vectors, widened, keyWidth, valueWidth, maxima, sums, widened + floatsOfPage)
        }
        for vector in 0..<vectors {
            let scale = 1 / sums[vector]
            for d in 0..<valueWidth { o[vector][d] *= scale }
        }
    }

    private func widen(_ page: Int, next: Int, into destination: UnsafeMutablePointer<Float>) {
        let part = segment.cache.part(page: page, layer: layer, head: head)
        let nextPart = segment.cache.part(page: next, layer: layer, head: head)
        let cached = segment.cache.shape
        switch cached.format {
        case .f16: kernels.widenHalves(part, cached.keyWidth, cached.valueWidth, destination, nextPart)
        case .q8_0: kernels.widenBytes(part, cached.bytePage, destination, nextPart)
        }
    }
}
