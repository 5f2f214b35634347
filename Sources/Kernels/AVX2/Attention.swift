// Attention over one page of the KV cache; see `KernelsPortable.attendPage` for the layout and the method.
//
// Two query rows at a time, so that each load of keys or values feeds two multiply-adds.

import CIntrinsics
public import KernelFormats

/// As `KernelsPortable.attendPage`, for value widths that are multiples of 8.
@inline(never)
public func attendPage(_ work: PageAttention) {
    let (queries, outputs, first, end, rows) = (work.queries, work.outputs, work.first, work.end, work.rows)
    let (page, keyWidth, valueWidth) = (work.page, work.keyWidth, work.valueWidth)
    let (maxima, sums, changes) = (work.maxima, work.sums, work.changes)
    let weights = work.scratch
    let k = page, v = page + pageTokens &* keyWidth
    var row = 0
    while row < rows {
        // The scores of an odd last row are computed twice.
        let next = row &+ 1 < rows ? row &+ 1 : row
        scores(queries[row], queries[next], k, keyWidth, weights)
        if !changes.isEmpty {
            change(weights, changes, row)
            change(weights + pageTokens, changes, next)
        }
        softmax(weights, Int(first[row]), Int(end[row]), &maxima[row], &sums[row], outputs[row], valueWidth)
        if next != row {
            softmax(
                weights + pageTokens, Int(first[next]), Int(end[next]), &maxima[next], &sums[next], outputs[next],
                valueWidth)
            addValues(weights, v, valueWidth, outputs[row], outputs[next])
        } else {
            addValues(weights, v, valueWidth, outputs[row])
        }
        row &+= 2
    }
}

/// `out[t] = q0 · key t`, `out[32 + t] = q1 · key t`.
@inline(__always)
private func scores(
    _ q0: UnsafePointer<Float>, _ q1: UnsafePointer<Float>, _ keys: UnsafePointer<Float>, _ width: Int,
    _ out: UnsafeMutablePointer<Float>
) {
    let zero = _mm256_setzero_ps()
    var (a0, a1, a2, a3) = (zero, zero, zero, zero)
    var (b0, b1, b2, b3) = (zero, zero, zero, zero)
    var k = keys
    for d in 0..<width {
        let (x, y) = (_mm256_set1_ps(q0[d]), _mm256_set1_ps(q1[d]))
        let (k0, k1, k2, k3) = (load(k), load(k + 8), load(k + 16), load(k + 24))
        a0 = _mm256_fmadd_ps(x, k0, a0)
        a1 = _mm256_fmadd_ps(x, k1, a1)
        a2 = _mm256_fmadd_ps(x, k2, a2)
        a3 = _mm256_fmadd_ps(x, k3, a3)
        b0 = _mm256_fmadd_ps(y, k0, b0)
        b1 = _mm256_fmadd_ps(y, k1, b1)
        b2 = _mm256_fmadd_ps(y, k2, b2)
        b3 = _mm256_fmadd_ps(y, k3, b3)
        k += pageTokens
    }
    _mm256_storeu_ps(out, a0)
    _mm256_storeu_ps(out + 8, a1)
    _mm256_storeu_ps(out + 16, a2)
    _mm256_storeu_ps(out + 24, a3)
    _mm256_storeu_ps(out + 32, b0)
    _mm256_storeu_ps(out + 40, b1)
    _mm256_storeu_ps(out + 48, b2)
    _mm256_storeu_ps(out + 56, b3)
}

/// Applies softcap and linear bias to the scores of a row.
@inline(__always)
private func change(_ scores: UnsafeMutablePointer<Float>, _ changes: ScoreChanges, _ row: Int) {
    var t = 0
    while t < pageTokens {
        var s = load(scores + t)
        if changes.softcap != 0 {
            // tanh x = 1 − 2 / (1 + e^2x)
            let one = _mm256_set1_ps(1)
            let e = exponential(_mm256_mul_ps(s, _mm256_set1_ps(2 / changes.softcap)))
            let tanh = _mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2), _mm256_add_ps(one, e)))
            s = _mm256_mul_ps(tanh, _mm256_set1_ps(changes.softcap))
        }
        if let slopes = changes.slopes, let offsets = changes.offsets {
            let tokens = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7)
            let distances = _mm256_add_ps(tokens, _mm256_set1_ps(offsets[row] + Float(t)))
            s = _mm256_fmadd_ps(_mm256_set1_ps(slopes[row]), distances, s)
        }
        _mm256_storeu_ps(scores + t, s)
        t &+= 8
    }
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
    var (s0, s1, s2, s3) = (load(scores), load(scores + 8), load(scores + 16), load(scores + 24))
    let highest = largest(_mm256_max_ps(_mm256_max_ps(s0, s1), _mm256_max_ps(s2, s3)))
    if highest > maximum {
        // For the first page: e^(−∞) is 0, and the state is 0 anyway.
        let rescale = _mm256_cvtss_f32(exponential(_mm256_set1_ps(maximum - highest)))
        let factor = _mm256_set1_ps(rescale)
        var d = 0
        while d < width {
            _mm256_storeu_ps(output + d, _mm256_mul_ps(load(output + d), factor))
            d &+= 8
        }
        total *= rescale
        maximum = highest
    }
    let m = _mm256_set1_ps(maximum)
    s0 = exponential(_mm256_sub_ps(s0, m))
    s1 = exponential(_mm256_sub_ps(s1, m))
    s2 = exponential(_mm256_sub_ps(s2, m))
    s3 = exponential(_mm256_sub_ps(s3, m))
    total += sum(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)))
    _mm256_storeu_ps(scores, s0)
    _mm256_storeu_ps(scores + 8, s1)
    _mm256_storeu_ps(scores + 16, s2)
    _mm256_storeu_ps(scores + 24, s3)
}

@inline(__always)
func largest(_ a: __m256) -> Float {
    var m = _mm_max_ps(_mm256_castps256_ps128(a), upper_lane(a))
    m = _mm_max_ps(m, _mm_movehl_ps(m, m))
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)))
}

/// `o0 += Σ weights[t] · value t`, and `o1` with `weights[32 + t]`, 32 columns at a time.
@inline(__always)
private func addValues(
    _ weights: UnsafePointer<Float>, _ values: UnsafePointer<Float>, _ width: Int, _ o0: UnsafeMutablePointer<Float>,
    _ o1: UnsafeMutablePointer<Float>
) {
    var d = 0
    while d &+ 32 <= width {
        var (a0, a1, a2, a3) = (load(o0 + d), load(o0 + (d &+ 8)), load(o0 + (d &+ 16)), load(o0 + (d &+ 24)))
        var (b0, b1, b2, b3) = (load(o1 + d), load(o1 + (d &+ 8)), load(o1 + (d &+ 16)), load(o1 + (d &+ 24)))
        var v = values + d
        for t in 0..<pageTokens {
            let (x, y) = (_mm256_set1_ps(weights[t]), _mm256_set1_ps(weights[pageTokens &+ t]))
            let (v0, v1, v2, v3) = (load(v), load(v + 8), load(v + 16), load(v + 24))
            a0 = _mm256_fmadd_ps(x, v0, a0)
            a1 = _mm256_fmadd_ps(x, v1, a1)
            a2 = _mm256_fmadd_ps(x, v2, a2)
            a3 = _mm256_fmadd_ps(x, v3, a3)
            b0 = _mm256_fmadd_ps(y, v0, b0)
            b1 = _mm256_fmadd_ps(y, v1, b1)
            b2 = _mm256_fmadd_ps(y, v2, b2)
            b3 = _mm256_fmadd_ps(y, v3, b3)
            v += width
        }
        store4(o0 + d, a0, a1, a2, a3)
        store4(o1 + d, b0, b1, b2, b3)
        d &+= 32
    }
    addTail(weights, values, width, d, o0)
    addTail(weights + pageTokens, values, width, d, o1)
}

@inline(__always)
private func addValues(
    _ weights: UnsafePointer<Float>, _ values: UnsafePointer<Float>, _ width: Int, _ o: UnsafeMutablePointer<Float>
) {
    var d = 0
    while d &+ 32 <= width {
        var (a0, a1, a2, a3) = (load(o + d), load(o + (d &+ 8)), load(o + (d &+ 16)), load(o + (d &+ 24)))
        var v = values + d
        for t in 0..<pageTokens {
            let x = _mm256_set1_ps(weights[t])
            a0 = _mm256_fmadd_ps(x, load(v), a0)
            a1 = _mm256_fmadd_ps(x, load(v + 8), a1)
            a2 = _mm256_fmadd_ps(x, load(v + 16), a2)
            a3 = _mm256_fmadd_ps(x, load(v + 24), a3)
            v += width
        }
        store4(o + d, a0, a1, a2, a3)
        d &+= 32
    }
    addTail(weights, values, width, d, o)
}

/// Adds the columns from `start` on, eight at a time.
@inline(__always)
private func addTail(
    _ weights: UnsafePointer<Float>, _ values: UnsafePointer<Float>, _ width: Int, _ start: Int,
    _ o: UnsafeMutablePointer<Float>
) {
    var d = start
    while d < width {
        var a = load(o + d)
        for t in 0..<pageTokens { a = _mm256_fmadd_ps(_mm256_set1_ps(weights[t]), load(values + (t &* width &+ d)), a) }
        _mm256_storeu_ps(o + d, a)
        d &+= 8
    }
}
