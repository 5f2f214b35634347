// Attention over one page of the KV cache, with an online softmax (Milakov and Gimelshein 2018; Dao et al. 2022).
//
//     page of one layer and KV head:   keys [D][32]     transposed: 32 tokens side by side
//                                      values [32][Dv]
//
// Pages are stored as halves or quantized (`QuantizedPage`); `widenHalves` and `widenQuantized` convert one to floats,
// which are then read for all queries. With transposed keys the scores are 32 independent sums, so no kernel needs a
// horizontal one. For each query row the caller keeps the running maximum m, the sum l of e^(s − m) and the
// unnormalized output o = Σ e^(s − m)·v; a new maximum rescales both.

import CMath
public import KernelFormats

/// Adds one page to the running state of `rows` query rows.
@inline(never)
public func attendPage(_ work: PageAttention) {
    let (queries, outputs, first, end, rows) = (work.queries, work.outputs, work.first, work.end, work.rows)
    let (page, keyWidth, valueWidth) = (work.page, work.keyWidth, work.valueWidth)
    let (maxima, sums, changes) = (work.maxima, work.sums, work.changes)
    let k = page, v = page + (pageTokens &* keyWidth)
    for row in 0..<rows {
        let from = Int(first[row]), to = Int(end[row])
        if from >= to { continue }
        let q = queries[row], o = outputs[row]
        var scores = SIMD32<Float>()
        for d in 0..<keyWidth {
            scores += q[d] * UnsafeRawPointer(k + (d &* pageTokens)).loadUnaligned(as: SIMD32<Float>.self)
        }
        if changes.softcap != 0 {
            for t in from..<to { scores[t] = changes.softcap * tanhf(scores[t] / changes.softcap) }
        }
        if let slopes = changes.slopes, let offsets = changes.offsets {
            for t in from..<to { scores[t] += slopes[row] * (offsets[row] + Float(t)) }
        }
        var maximum = maxima[row]
        for t in from..<to { maximum = max(maximum, scores[t]) }
        let rescale = expf(maxima[row] - maximum)
        var sum = sums[row] * rescale
        if rescale != 1 { for d in 0..<valueWidth { o[d] *= rescale } }
        for t in from..<to {
            let weight = expf(scores[t] - maximum)
            sum += weight
            let value = v + (t &* valueWidth)
            for d in 0..<valueWidth { o[d] += weight * value[d] }
        }
        maxima[row] = maximum
        sums[row] = sum
    }
}
