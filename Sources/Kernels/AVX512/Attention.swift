// Attention over one page of the KV cache; see `KernelsPortable.attendPage` for the layout and the method.
//
// Four query rows at a time, so that each load of keys or values feeds four multiply-adds, with eight independent sums.

import CIntrinsics
public import KernelFormats

/// Query rows that share a load.
private let block = 4

/// As `KernelsPortable.attendPage`, for value widths that are multiples of 16.
@inline(never)
public func attendPage(_ work: PageAttention) {
    attend(FloatNumbers.self, work, UnsafeRawPointer(work.page), next: nil)
}

/// As `attendPage`, with the same bits, for a page of halves, which are converted in registers.
///
/// A page is read once for each four rows.
///
/// - Parameters:
///   - work: Its `page` is not read.
///   - page: `[D][32]` keys and `[32][Dv]` values.
///   - next: The page to prefetch.
@inline(never)
public func attendHalves(_ work: PageAttention, _ page: UnsafeRawPointer, next: UnsafeRawPointer) {
    attend(HalfNumbers.self, work, page, next: next)
}

@inline(__always)
private func attend<Numbers: NumberFormat>(
    _: Numbers.Type, _ work: PageAttention, _ page: UnsafeRawPointer, next: UnsafeRawPointer?
) {
    let (queries, outputs, first, end, rows) = (work.queries, work.outputs, work.first, work.end, work.rows)
    let (keyWidth, valueWidth) = (work.keyWidth, work.valueWidth)
    let (maxima, sums, changes) = (work.maxima, work.sums, work.changes)
    let weights = work.scratch
    let valuesOffset = 2 &* Numbers.bytes &* keyWidth
    let values = page + valuesOffset
    var row = 0
    while row < rows {
        // An incomplete last block is filled up with the last row, whose extra results are not used.
        let last = rows &- 1
        let (r1, r2, r3) = (min(row &+ 1, last), min(row &+ 2, last), min(row &+ 3, last))
        // The first rows prefetch.
        let nextKeys = row == 0 ? next : nil
        var nextValues: UnsafeRawPointer?
        if let nextKeys { nextValues = nextKeys + valuesOffset }
        scores(
            Numbers.self, queries[row], queries[r1], queries[r2], queries[r3], page, keyWidth, weights, next: nextKeys)
        let count = min(block, rows &- row)
        for index in 0..<block {
            let mine = weights + pageTokens &* index
            if index < count {
                let r = row &+ index
                if !changes.isEmpty { change(mine, changes, r) }
                softmax(mine, Int(first[r]), Int(end[r]), &maxima[r], &sums[r], outputs[r], valueWidth)
            } else {
                for token in 0..<pageTokens { mine[token] = 0 }
            }
        }
        if count == block {
            addValues(
                Numbers.self, weights, values, valueWidth, outputs[row], outputs[r1], outputs[r2], outputs[r3],
                next: nextValues)
        } else {
            for index in 0..<count {
                addValues(
                    Numbers.self, weights + pageTokens &* index, values, valueWidth, from: 0, outputs[row &+ index])
            }
        }
        row &+= block
    }
}

@inline(__always)
private func load(_ p: UnsafePointer<Float>) -> __m512 { _mm512_loadu_ps(p) }

/// `out[32 · r + t] = q of row r · key t`.
@inline(__always)
private func scores<Numbers: NumberFormat>(
    _: Numbers.Type, _ q0: UnsafePointer<Float>, _ q1: UnsafePointer<Float>, _ q2: UnsafePointer<Float>,
    _ q3: UnsafePointer<Float>,
    _ keys: UnsafeRawPointer, _ width: Int, _ out: UnsafeMutablePointer<Float>, next: UnsafeRawPointer?
) {
    let zero = _mm512_setzero_ps()
    var (a0, a1, b0, b1) = (zero, zero, zero, zero)
    var (c0, c1, d0, d1) = (zero, zero, zero, zero)
    var k = keys
    for d in 0..<width {
        if let next { prefetch_to_l2(next + 2 &* Numbers.bytes &* d) }
        let (k0, k1) = (Numbers.load(k), Numbers.load(k + Numbers.bytes))
        let (x, y) = (_mm512_set1_ps(q0[d]), _mm512_set1_ps(q1[d]))
        a0 = _mm512_fmadd_ps(x, k0, a0)
        a1 = _mm512_fmadd_ps(x, k1, a1)
        b0 = _mm512_fmadd_ps(y, k0, b0)
        b1 = _mm512_fmadd_ps(y, k1, b1)
        let (z, w) = (_mm512_set1_ps(q2[d]), _mm512_set1_ps(q3[d]))
        c0 = _mm512_fmadd_ps(z, k0, c0)
        c1 = _mm512_fmadd_ps(z, k1, c1)
        d0 = _mm512_fmadd_ps(w, k0, d0)
        d1 = _mm512_fmadd_ps(w, k1, d1)
        k += 2 &* Numbers.bytes
    }
    store2(out, a0, a1)
    store2(out + pageTokens, b0, b1)
    store2(out + 2 &* pageTokens, c0, c1)
    store2(out + 3 &* pageTokens, d0, d1)
}

@inline(__always)
private func store2(_ p: UnsafeMutablePointer<Float>, _ a: __m512, _ b: __m512) {
    _mm512_storeu_ps(p, a)
    _mm512_storeu_ps(p + 16, b)
}

/// Applies softcap and linear bias to the scores of a row.
@inline(__always)
private func change(_ scores: UnsafeMutablePointer<Float>, _ changes: ScoreChanges, _ row: Int) {
    var t = 0
    while t < pageTokens {
        var s = load(scores + t)
        if changes.softcap != 0 { s = softcap(s, changes.softcap) }
        if let slopes = changes.slopes, let offsets = changes.offsets {
            let tokens = _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
            let distances = _mm512_add_ps(tokens, _mm512_set1_ps(offsets[row] + Float(t)))
            s = _mm512_fmadd_ps(_mm512_set1_ps(slopes[row]), distances, s)
        }
        _mm512_storeu_ps(scores + t, s)
        t &+= 16
    }
}

/// `limit · tanh(s / limit)`, with tanh x = 1 − 2 / (1 + e^2x).
@inline(__always)
func softcap(_ s: __m512, _ limit: Float) -> __m512 {
    let one = _mm512_set1_ps(1)
    let e = exponential(_mm512_mul_ps(s, _mm512_set1_ps(2 / limit)))
    let tanh = _mm512_sub_ps(one, _mm512_div_ps(_mm512_set1_ps(2), _mm512_add_ps(one, e)))
    return _mm512_mul_ps(tanh, _mm512_set1_ps(limit))
}

/// Turns a row's scores into weights e^(s − m), 0 for masked tokens, and rescales its state to the new maximum.
@inline(__always)
private func softmax(
    _ scores: UnsafeMutablePointer<Float>, _ first: Int, _ end: Int, _ maximum: inout Float, _ total: inout Float,
    _ output: UnsafeMutablePointer<Float>, _ width: Int
) {
    if first >= end {
        for t in 0..<pageTokens { scores[t] = 0 }
        return
    }
    for t in 0..<first { scores[t] = -.infinity }
    for t in end..<pageTokens { scores[t] = -.infinity }
    var (s0, s1) = (load(scores), load(scores + 16))
    let highest = _mm512_reduce_max_ps(_mm512_max_ps(s0, s1))
    if highest > maximum {
        // For the first page: e^(−∞) is 0, and the state is 0 anyway.
        let rescale = _mm512_cvtss_f32(exponential(_mm512_set1_ps(maximum - highest)))
        let factor = _mm512_set1_ps(rescale)
        var d = 0
        while d < width {
            _mm512_storeu_ps(output + d, _mm512_mul_ps(load(output + d), factor))
            d &+= 16
        }
        total *= rescale
        maximum = highest
    }
    let m = _mm512_set1_ps(maximum)
    s0 = exponential(_mm512_sub_ps(s0, m))
    s1 = exponential(_mm512_sub_ps(s1, m))
    total += _mm512_reduce_add_ps(_mm512_add_ps(s0, s1))
    store2(scores, s0, s1)
}

/// e^x to about 2 ulp, as in the AVX2 tier: e^x = 2^n · e^r, n = round(x / ln 2). Below −87 the result is 0. NaN
/// propagates: minimum and maximum return their second operand if one is NaN.
@inline(__always)
func exponential(_ x: __m512) -> __m512 {
    let low = _mm512_set1_ps(-87)
    let clamped = _mm512_min_ps(_mm512_set1_ps(88), _mm512_max_ps(low, x))
    let n = _mm512_cvtepi32_ps(_mm512_cvtps_epi32(_mm512_mul_ps(clamped, _mm512_set1_ps(1.442_695_04))))
    var r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693_359_375), clamped)
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.121_944_4e-4), r)
    var p = _mm512_set1_ps(1 / 720)
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1 / 120))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1 / 24))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1 / 6))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1))
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1))
    return zero_below(x, low, _mm512_scalef_ps(p, n))
}

/// `o += Σ weights[32 · r + t] · value t` for four rows, 32 columns at a time.
@inline(__always)
private func addValues<Numbers: NumberFormat>(
    _: Numbers.Type, _ weights: UnsafePointer<Float>, _ values: UnsafeRawPointer, _ width: Int,
    _ o0: UnsafeMutablePointer<Float>, _ o1: UnsafeMutablePointer<Float>, _ o2: UnsafeMutablePointer<Float>,
    _ o3: UnsafeMutablePointer<Float>, next: UnsafeRawPointer?
) {
    let stride = width / 16 &* Numbers.bytes
    var d = 0
    while d &+ 32 <= width {
        var (a0, a1) = (load(o0 + d), load(o0 + (d &+ 16)))
        var (b0, b1) = (load(o1 + d), load(o1 + (d &+ 16)))
        var (c0, c1) = (load(o2 + d), load(o2 + (d &+ 16)))
        var (d0, d1) = (load(o3 + d), load(o3 + (d &+ 16)))
        var offset = d / 16 &* Numbers.bytes
        for t in 0..<pageTokens {
            if let next { prefetch_to_l2(next + 2 &* Numbers.bytes &* (d &+ t)) }
            let (v0, v1) = (Numbers.load(values + offset), Numbers.load(values + (offset &+ Numbers.bytes)))
            let (x, y) = (_mm512_set1_ps(weights[t]), _mm512_set1_ps(weights[pageTokens &+ t]))
            a0 = _mm512_fmadd_ps(x, v0, a0)
            a1 = _mm512_fmadd_ps(x, v1, a1)
            b0 = _mm512_fmadd_ps(y, v0, b0)
            b1 = _mm512_fmadd_ps(y, v1, b1)
            let z = _mm512_set1_ps(weights[2 &* pageTokens &+ t]), w = _mm512_set1_ps(weights[3 &* pageTokens &+ t])
            c0 = _mm512_fmadd_ps(z, v0, c0)
            c1 = _mm512_fmadd_ps(z, v1, c1)
            d0 = _mm512_fmadd_ps(w, v0, d0)
            d1 = _mm512_fmadd_ps(w, v1, d1)
            offset &+= stride
        }
        store2(o0 + d, a0, a1)
        store2(o1 + d, b0, b1)
        store2(o2 + d, c0, c1)
        store2(o3 + d, d0, d1)
        d &+= 32
    }
    addValues(Numbers.self, weights, values, width, from: d, o0)
    addValues(Numbers.self, weights + pageTokens, values, width, from: d, o1)
    addValues(Numbers.self, weights + 2 &* pageTokens, values, width, from: d, o2)
    addValues(Numbers.self, weights + 3 &* pageTokens, values, width, from: d, o3)
}

/// As above for one row, from column `start` on, 16 at a time.
@inline(__always)
private func addValues<Numbers: NumberFormat>(
    _: Numbers.Type, _ weights: UnsafePointer<Float>, _ values: UnsafeRawPointer, _ width: Int, from start: Int,
    _ o: UnsafeMutablePointer<Float>
) {
    let stride = width / 16 &* Numbers.bytes
    var d = start
    while d < width {
        var a = load(o + d)
        var v = values + d / 16 &* Numbers.bytes
        for t in 0..<pageTokens {
            a = _mm512_fmadd_ps(_mm512_set1_ps(weights[t]), Numbers.load(v), a)
            v += stride
        }
        _mm512_storeu_ps(o + d, a)
        d &+= 16
    }
}
