// A matrix product of activations in 14 bits: tiles of activations by panels of unpacked weights, both in 16-bit words.
//
// As in IntegerRow.swift, `vpmaddwd` adds two columns of eight rows in 32 bits, and nothing has to be widened.

import CIntrinsics
import KernelFormats

/// Multiplies a tile of up to six tokens of 14 bits by panels of 16 weight rows each.
func multiplyPairs(_ product: TileProduct) {
    // The same slice of the next tile, and its results, are prefetched along the way.
    let nextTile = product.tile + product.tileStride
    let nextResults = UnsafeRawPointer(product.c + product.panelCount &* IntegerTile.resultFloats)
    for index in 0..<product.panelCount {
        let parts = index &* product.parts
        let output = Output(
            c: product.c + index &* IntegerTile.resultFloats, tokens: product.tokens, accumulate: product.accumulate)
        let job = Job(
            tile: product.tile, panel: product.panels + index &* product.panelBytes, parts: product.parts,
            segments: product.layout.segments, output: output, nextTile: nextTile + 64 &* tileLines &* parts,
            nextResults: nextResults + 64 &* parts)
        switch product.columns {
        case 4: multiplyTwo(job)
        case 8: multiplyFour(job)
        default: multiplySix(job)
        }
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyTwo(_ job: Job) { multiply(1, job) }

@inline(never)
private func multiplyFour(_ job: Job) { multiply(2, job) }

@inline(never)
private func multiplySix(_ job: Job) { multiply(3, job) }

private struct Job {
    let tile: UnsafeRawPointer
    let panel: UnsafeRawPointer
    let parts: Int
    let segments: Int
    let output: Output
    let nextTile: UnsafeRawPointer
    let nextResults: UnsafeRawPointer
}

/// Lines of the next tile's slice to prefetch per part: two panels prefetch all of it.
private let tileLines = 5

private struct Output {
    let c: UnsafeMutablePointer<Float>
    let tokens: Int
    let accumulate: Bool
}

/// Sums of two tokens, each for rows 0..<8 and 8..<16.
private struct Sums {
    var first: (__m256i, __m256i)
    var second: (__m256i, __m256i)

    @inline(__always)
    init() {
        let zero = _mm256_setzero_si256()
        (first, second) = ((zero, zero), (zero, zero))
    }

    /// One step: two columns of the weight matrix.
    @inline(__always)
    mutating func add(_ w0: __m256i, _ w1: __m256i, _ x: UnsafePointer<Int32>) {
        let (x0, x1) = (_mm256_set1_epi32(x[0]), _mm256_set1_epi32(x[1]))
        first.0 = _mm256_add_epi32(first.0, _mm256_madd_epi16(w0, x0))
        first.1 = _mm256_add_epi32(first.1, _mm256_madd_epi16(w1, x0))
        second.0 = _mm256_add_epi32(second.0, _mm256_madd_epi16(w0, x1))
        second.1 = _mm256_add_epi32(second.1, _mm256_madd_epi16(w1, x1))
    }
}

/// Converts sums of codes of a segment to results.
private struct Scales {
    let weights: (__m256, __m256)
    let x: UnsafePointer<Float>
    let offsets: (__m256, __m256)
    let sums: UnsafePointer<Float>

    @inline(__always)
    func add(_ code: (__m256i, __m256i), _ column: Int, to result: inout (__m256, __m256)) {
        let x = _mm256_set1_ps(x[column]), sum = _mm256_set1_ps(sums[column])
        result.0 = _mm256_fmadd_ps(_mm256_cvtepi32_ps(code.0), _mm256_mul_ps(weights.0, x), result.0)
        result.1 = _mm256_fmadd_ps(_mm256_cvtepi32_ps(code.1), _mm256_mul_ps(weights.1, x), result.1)
        result.0 = _mm256_fnmadd_ps(offsets.0, sum, result.0)
        result.1 = _mm256_fnmadd_ps(offsets.1, sum, result.1)
    }
}

/// Results of two tokens, 16 rows each.
private struct Results {
    var first: (__m256, __m256)
    var second: (__m256, __m256)

    @inline(__always)
    init(_ output: Output, _ token: Int) {
        let zero = _mm256_setzero_ps()
        (first, second) = ((zero, zero), (zero, zero))
        guard output.accumulate else { return }
        let c = output.c + token &* PackedLayout.rows
        if token < output.tokens { first = (load(c), load(c + 8)) }
        if token &+ 1 < output.tokens { second = (load(c + 16), load(c + 24)) }
    }

    @inline(__always)
    mutating func add(_ sums: Sums, _ scales: Scales, _ column: Int) {
        scales.add(sums.first, column, to: &first)
        scales.add(sums.second, column &+ 2, to: &second)
    }

    @inline(__always)
    func write(_ output: Output, _ token: Int) {
        let c = output.c + token &* PackedLayout.rows
        if token < output.tokens {
            _mm256_storeu_ps(c, first.0)
            _mm256_storeu_ps(c + 8, first.1)
        }
        if token &+ 1 < output.tokens {
            _mm256_storeu_ps(c + 16, second.0)
            _mm256_storeu_ps(c + 24, second.1)
        }
    }
}

/// `twos`, a literal, is half of the tile's tokens, of two columns each.
///
/// The number of steps is not a compile-time constant on purpose, as for activations in 8 bits.
@inline(__always)
private func multiply(_ twos: Int, _ job: Job) {
    let tokens = 2 &* twos
    let steps = 16 / job.segments
    var r0 = Results(job.output, 0)
    var r1 = Results(job.output, 2)
    var r2 = Results(job.output, 4)
    var (block, weights) = (job.tile, job.panel)
    var (nextTile, nextResults) = (job.nextTile, job.nextResults)
    for _ in 0..<job.parts {
        for line in 0..<tileLines { prefetch(nextTile + 64 &* line) }
        prefetch(nextResults)
        nextTile += 64 &* tileLines
        nextResults += 64
        let floats = (block + 64 &* tokens).assumingMemoryBound(to: Float.self)
        var x = block.assumingMemoryBound(to: Int32.self)
        var w = weights
        let scales = (weights + PairPanel.codeBytes).assumingMemoryBound(to: Float.self)
        for segment in 0..<job.segments {
            var s0 = Sums(), s1 = Sums(), s2 = Sums()
            for _ in 0..<steps {
                let w0 = w.loadUnaligned(as: __m256i.self), w1 = (w + 32).loadUnaligned(as: __m256i.self)
                s0.add(w0, w1, x)
                if twos > 1 { s1.add(w0, w1, x + 2) }
                if twos > 2 { s2.add(w0, w1, x + 4) }
                w += 64
                x += tokens
            }
            let scale = scales + 16 &* segment, offset = scale + 16 &* job.segments
            let ofSegment = Scales(
                weights: (load(scale), load(scale + 8)), x: floats, offsets: (load(offset), load(offset + 8)),
                sums: floats + 2 &* tokens &* (job.segments == 1 ? 1 : 2 &+ segment))
            r0.add(s0, ofSegment, 0)
            if twos > 1 { r1.add(s1, ofSegment, 4) }
            if twos > 2 { r2.add(s2, ofSegment, 8) }
        }
        block += IntegerTile.blockBytes(columns: 2 &* tokens)
        weights += PairPanel.blockBytes(segments: job.segments)
    }
    r0.write(job.output, 0)
    if twos > 1 { r1.write(job.output, 2) }
    if twos > 2 { r2.write(job.output, 4) }
}
