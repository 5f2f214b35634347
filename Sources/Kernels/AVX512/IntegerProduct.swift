// An integer matrix product: tiles of quantized activations by panels of unpacked weights.
//
// `vpdpbusd` multiplies 64 weight codes (unsigned bytes) by 64 activation codes (signed) and adds groups of four to
// 32-bit sums: two per cycle with a latency of four, so at least eight independent sums are needed. Two panels by six
// columns are twelve.

import CIntrinsics
public import KernelFormats

/// Multiplies a tile by panels of 16 weight rows each.
@inline(never)
public func multiplyTile(_ product: TileProduct) {
    let (count, panels, panelBytes) = (product.panelCount, product.panels, product.panelBytes)
    var index = 0
    while index < count {
        // An odd last panel is multiplied twice and written once.
        let both = index &+ 1 < count
        let job = Job(
            tile: product.tile, first: panels + index &* panelBytes,
            second: panels + (both ? index &+ 1 : index) &* panelBytes,
            segments: product.layout.segments, parts: product.parts, c: product.c + index &* IntegerTile.resultFloats,
            tokens: product.tokens, accumulate: product.accumulate, writesSecond: both)
        switch (product.columns, product.pairs) {
        case (2, false): multiplyTwo(job)
        case (4, false): multiplyFour(job)
        case (_, false): multiplySix(job)
        case (2, true): multiplyPair(job)
        case (4, true): multiplyTwoPairs(job)
        case (_, true): multiplyThreePairs(job)
        }
        index &+= 2
    }
}

// Separate functions, since the compiler would otherwise merge the loops.

@inline(never)
private func multiplyTwo(_ job: Job) { multiply(1, false, job) }

@inline(never)
private func multiplyFour(_ job: Job) { multiply(2, false, job) }

@inline(never)
private func multiplySix(_ job: Job) { multiply(3, false, job) }

@inline(never)
private func multiplyPair(_ job: Job) { multiply(1, true, job) }

@inline(never)
private func multiplyTwoPairs(_ job: Job) { multiply(2, true, job) }

@inline(never)
private func multiplyThreePairs(_ job: Job) { multiply(3, true, job) }

private struct Job {
    let tile: UnsafeRawPointer
    let first: UnsafeRawPointer
    let second: UnsafeRawPointer
    let segments: Int
    let parts: Int
    let c: UnsafeMutablePointer<Float>
    let tokens: Int
    let accumulate: Bool
    let writesSecond: Bool
}

/// One value for each of the two panels.
private typealias Panels<Value> = (Value, Value)

/// Sums of two columns of the tile.
private struct Sums {
    var first: Panels<__m512i>
    var second: Panels<__m512i>

    @inline(__always)
    init() {
        let zero = _mm512_setzero_si512()
        (first, second) = ((zero, zero), (zero, zero))
    }

    /// One step: four columns of the weight matrix.
    @inline(__always)
    mutating func add(_ w: Panels<__m512i>, _ x: UnsafePointer<Int32>) {
        let (x0, x1) = (_mm512_set1_epi32(x[0]), _mm512_set1_epi32(x[1]))
        first.0 = _mm512_dpbusd_epi32(first.0, w.0, x0)
        first.1 = _mm512_dpbusd_epi32(first.1, w.1, x0)
        second.0 = _mm512_dpbusd_epi32(second.0, w.0, x1)
        second.1 = _mm512_dpbusd_epi32(second.1, w.1, x1)
    }
}

/// Converts the sums of codes of a segment to results.
private struct Scales {
    let weights: Panels<__m512>
    let offsets: Panels<__m512>
    let x: UnsafePointer<Float>
    let sums: UnsafePointer<Float>

    @inline(__always)
    func add(_ code: Panels<__m512>, _ column: Int, to result: inout Panels<__m512>) {
        let x = _mm512_set1_ps(x[column]), sum = _mm512_set1_ps(sums[column])
        result.0 = _mm512_fmadd_ps(code.0, _mm512_mul_ps(weights.0, x), result.0)
        result.1 = _mm512_fmadd_ps(code.1, _mm512_mul_ps(weights.1, x), result.1)
        result.0 = _mm512_fnmadd_ps(offsets.0, sum, result.0)
        result.1 = _mm512_fnmadd_ps(offsets.1, sum, result.1)
    }
}

/// Results of one or two tokens.
private struct Results {
    var first: Panels<__m512>
    var second: Panels<__m512>

    @inline(__always)
    init(_ job: Job, _ token: Int, pairs: Bool) {
        let zero = _mm512_setzero_ps()
        (first, second) = ((zero, zero), (zero, zero))
        guard job.accumulate else { return }
        if token < job.tokens { first = Self.load(job, token) }
        if !pairs, token &+ 1 < job.tokens { second = Self.load(job, token &+ 1) }
    }

    @inline(__always)
    private static func load(_ job: Job, _ token: Int) -> Panels<__m512> {
        let c = job.c + token &* PackedLayout.rows
        return (
            _mm512_loadu_ps(c), job.writesSecond ? _mm512_loadu_ps(c + IntegerTile.resultFloats) : _mm512_setzero_ps()
        )
    }

    @inline(__always)
    mutating func add(_ sums: Sums, _ scales: Scales, _ column: Int, pairs: Bool) {
        let a = (_mm512_cvtepi32_ps(sums.first.0), _mm512_cvtepi32_ps(sums.first.1))
        let b = (_mm512_cvtepi32_ps(sums.second.0), _mm512_cvtepi32_ps(sums.second.1))
        if pairs {
            let factor = _mm512_set1_ps(IntegerTile.pairFactor)
            scales.add((_mm512_fmadd_ps(a.0, factor, b.0), _mm512_fmadd_ps(a.1, factor, b.1)), column, to: &first)
        } else {
            scales.add(a, column, to: &first)
            scales.add(b, column &+ 1, to: &second)
        }
    }

    @inline(__always)
    func write(_ job: Job, _ token: Int, pairs: Bool) {
        if token < job.tokens { Self.store(first, job, token) }
        if !pairs, token &+ 1 < job.tokens { Self.store(second, job, token &+ 1) }
    }

    @inline(__always)
    private static func store(_ values: Panels<__m512>, _ job: Job, _ token: Int) {
        let c = job.c + token &* PackedLayout.rows
        _mm512_storeu_ps(c, values.0)
        if job.writesSecond { _mm512_storeu_ps(c + IntegerTile.resultFloats, values.1) }
    }
}

/// `twos`, a literal, is half of the tile's columns.
@inline(__always)
private func multiply(_ twos: Int, _ pairs: Bool, _ job: Job) {
    let columns = 2 &* twos
    let tokensOfTwo = pairs ? 1 : 2
    let panelBlockBytes = IntegerPanel.blockBytes(segments: job.segments)
    let steps = 8 / job.segments
    var r0 = Results(job, 0, pairs: pairs)
    var r1 = Results(job, tokensOfTwo, pairs: pairs)
    var r2 = Results(job, 2 &* tokensOfTwo, pairs: pairs)
    var (block, first, second) = (job.tile, job.first, job.second)
    for _ in 0..<job.parts {
        let floats = (block + 32 &* columns).assumingMemoryBound(to: Float.self)
        var x = block.assumingMemoryBound(to: Int32.self)
        var offset = 0
        for segment in 0..<job.segments {
            var s0 = Sums(), s1 = Sums(), s2 = Sums()
            for _ in 0..<steps {
                let w = (load64(first + offset), load64(second + offset))
                s0.add(w, x)
                if twos > 1 { s1.add(w, x + 2) }
                if twos > 2 { s2.add(w, x + 4) }
                offset &+= 64
                x += columns
            }
            let scale = 512 &+ 64 &* segment, rest = scale &+ 64 &* job.segments
            let scales = Scales(
                weights: (floats16(first + scale), floats16(second + scale)),
                offsets: (floats16(first + rest), floats16(second + rest)), x: floats,
                sums: floats + columns &* (job.segments == 1 ? 1 : 2 &+ segment))
            r0.add(s0, scales, 0, pairs: pairs)
            if twos > 1 { r1.add(s1, scales, 2, pairs: pairs) }
            if twos > 2 { r2.add(s2, scales, 4, pairs: pairs) }
        }
        block += IntegerTile.blockBytes(columns: columns)
        first += panelBlockBytes
        second += panelBlockBytes
    }
    r0.write(job, 0, pairs: pairs)
    if twos > 1 { r1.write(job, tokensOfTwo, pairs: pairs) }
    if twos > 2 { r2.write(job, 2 &* tokensOfTwo, pairs: pairs) }
}

@inline(__always)
private func floats16(_ p: UnsafeRawPointer) -> __m512 { _mm512_loadu_ps(p.assumingMemoryBound(to: Float.self)) }
