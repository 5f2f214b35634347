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
    let zero = Floats()
    var (a0, a1, a2, a3) = (zero, zero, zero, zero)
    var (b0, b1, b2, b3) = (zero, zero, zero, zero)
    var k = keys
    for d in 0..<width {
        let (x, y) = (Floats(repeating: q0[d]), Floats(repeating: q1[d]))
        let (k0, k1, k2, k3) = (load(k), load(k + 8), load(k + 16), load(k + 24))
        a0 = multiply_add(x, k0, a0)
        a1 = multiply_add(x, k1, a1)
        a2 = multiply_add(x, k2, a2)
        a3 = multiply_add(x, k3, a3)
        b0 = multiply_add(y, k0, b0)
        b1 = multiply_add(y, k1, b1)
        b2 = multiply_add(y, k2, b2)
        b3 = multiply_add(y, k3, b3)
        k += pageTokens
    }
    store(a0, out)
    store(a1, out + 8)
    store(a2, out + 16)
    store(a3, out + 24)
    store(b0, out + 32)
    store(b1, out + 40)
    store(b2, out + 48)
    store(b3, out + 56)
}

/// Applies softcap and linear bias to the scores of a row.
@inline(__always)
private func change(_ scores: UnsafeMutablePointer<Float>, _ changes: ScoreChanges, _ row: Int) {
    var t = 0
    while t < pageTokens {
        var s = load(scores + t)
        if changes.softcap != 0 {
            // tanh x = 1 − 2 / (1 + e^2x)
            let one = Floats(repeating: 1)
            let e = exponential(s * Floats(repeating: 2 / changes.softcap))
            let tanh = (one - Floats(repeating: 2) / (one + e))
            s = tanh * Floats(repeating: changes.softcap)
        }
        if let slopes = changes.slopes, let offsets = changes.offsets {
            let tokens = Floats(0, 1, 2, 3, 4, 5, 6, 7)
            let distances = (tokens + Floats(repeating: offsets[row] + Float(t)))
            s = multiply_add(Floats(repeating: slopes[row]), distances, s)
        }
        store(s, scores + t)
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
    let highest = largest_of(maximum_of(maximum_of(s0, s1), maximum_of(s2, s3)))
    if highest > maximum {
        // For the first page: e^(−∞) is 0, and the state is 0 anyway.
        let rescale = (exponential(Floats(repeating: maximum - highest)))[0]
        let factor = Floats(repeating: rescale)
        var d = 0
        while d < width {
            store(load(output + d) * factor, output + d)
            d &+= 8
        }
        total *= rescale
        maximum = highest
    }
    let m = Floats(repeating: maximum)
    s0 = exponential((s0 - m))
    s1 = exponential((s1 - m))
    s2 = exponential((s2 - m))
    s3 = exponential((s3 - m))
    total += sum(((s0 + s1) + (s2 + s3)))
    store(s0, scores)
    store(s1, scores + 8)
    store(s2, scores + 16)
    store(s3, scores + 24)
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
            let (x, y) = (Floats(repeating: weights[t]), Floats(repeating: weights[pageTokens &+ t]))
            let (v0, v1, v2, v3) = (load(v), load(v + 8), load(v + 16), load(v + 24))
            a0 = multiply_add(x, v0, a0)
            a1 = multiply_add(x, v1, a1)
            a2 = multiply_add(x, v2, a2)
            a3 = multiply_add(x, v3, a3)
            b0 = multiply_add(y, v0, b0)
            b1 = multiply_add(y, v1, b1)
            b2 = multiply_add(y, v2, b2)
            b3 = multiply_add(y, v3, b3)
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
            let x = Floats(repeating: weights[t])
            a0 = multiply_add(x, load(v), a0)
            a1 = multiply_add(x, load(v + 8), a1)
            a2 = multiply_add(x, load(v + 16), a2)
            a3 = multiply_add(x, load(v + 24), a3)
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
        for t in 0..<pageTokens { a = multiply_add(Floats(repeating: weights[t]), load(values + (t &* width &+ d)), a) }
        store(a, o + d)
        d &+= 8
    }
}
