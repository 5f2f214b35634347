// Attention of 32 query rows, side by side, over one page of the KV cache; see `KernelsPortable.attendPage` for the
// method.
//
// Scores and weighted values are products of a tile of eight tokens, or eight columns, by two registers of rows, as in
// PackedFloatProduct.swift. A row's arithmetic is that of `attendPage`, in the same order, so that it gets the same bits.

import CIntrinsics
public import KernelFormats
import KernelsFloat

/// The 32 rows.
private typealias Rows = VectorPair<SixteenFloats>

/// Adds one page to the running state of 32 rows, for value widths that are multiples of 8; bitwise equal to `attendPage`.
@inline(never)
public func attendBlock(_ work: BlockAttention) {
    let (rows, scores) = (BlockAttention.rows, work.scratch)
    let values = work.page + pageTokens &* work.keyWidth
    var token = 0
    while token < pageTokens {
        var sums = EightRows<Rows> { _ in Rows(0) }
        add(work.page + token, pageTokens, work.queries, work.keyWidth, &sums)
        let target = scores + token &* rows
        sums.forEachReversed { $1.store(target + $0 &* rows) }
        token &+= 8
    }
    let factors = Rows(SixteenFloats(softmax(work, 0)), SixteenFloats(softmax(work, 16)))
    var column = 0
    while column < work.valueWidth {
        let target = work.outputs + column &* rows
        var sums = EightRows<Rows> { .load(target + $0 &* rows) * factors }
        add(values + column, work.valueWidth, scores, pageTokens, &sums)
        sums.forEachReversed { $1.store(target + $0 &* rows) }
        column &+= 8
    }
}

/// Adds the products of eight columns of `x`, `stride` floats from row to row, and `w`, `[count][32]`.
@inline(__always)
private func add(
    _ x: UnsafePointer<Float>, _ stride: Int, _ w: UnsafePointer<Float>, _ count: Int, _ sums: inout EightRows<Rows>
) {
    var (x, w) = (x, w)
    for _ in 0..<count {
        sums.add(.load(w)) { x[$0] }
        x += stride
        w += BlockAttention.rows
    }
}

/// Turns the scores of 16 rows into weights e^(s − m), 0 for masked tokens.
///
/// - Returns: The factor for the rows' outputs.
@inline(__always)
private func softmax(_ work: BlockAttention, _ row: Int) -> __m512 {
    let scores = work.scratch + row
    let (first, end) = (load(work.first + row), load(work.end + row))
    var seesAll = true
    for index in row..<row &+ 16 {
        seesAll = seesAll && work.first[index] == 0 && work.end[index] == Int32(pageTokens)
    }
    if !work.changes.isEmpty { changeBlock(scores, work.changes, row) }
    let hidden = _mm512_set1_ps(-.infinity)
    if !seesAll {
        for token in 0..<pageTokens {
            let place = scores + token &* BlockAttention.rows
            _mm512_storeu_ps(place, select_within(first, end, Int32(token), _mm512_loadu_ps(place), hidden))
        }
    }
    var (highest, h1, h2, h3) = (hidden, hidden, hidden, hidden)
    var token = 0
    while token < pageTokens {
        highest = _mm512_max_ps(highest, score(scores, token))
        h1 = _mm512_max_ps(h1, score(scores, token &+ 1))
        h2 = _mm512_max_ps(h2, score(scores, token &+ 2))
        h3 = _mm512_max_ps(h3, score(scores, token &+ 3))
        token &+= 4
    }
    highest = _mm512_max_ps(_mm512_max_ps(highest, h1), _mm512_max_ps(h2, h3))

    let before = _mm512_loadu_ps(work.maxima + row)
    // NaN is not a maximum: the second operand is the result then.
    let maximum = _mm512_max_ps(highest, before)
    // For the first page: e^(−∞) is 0, and the state is 0 anyway.
    let rescale = exponential(SixteenFloats(_mm512_sub_ps(before, maximum))).v
    let factor = select_above(highest, before, rescale, _mm512_set1_ps(1))
    /// The weights of tokens `i`, `i + 4`, …, `i + 28`, and their sum in the order of `_mm512_reduce_add_ps`.
    @inline(__always)
    func weigh(_ i: Int) -> __m512 {
        @inline(__always)
        func weight(_ token: Int) -> __m512 {
            let s = _mm512_sub_ps(score(scores, token), maximum)
            // A row that has seen nothing yet has no maximum.
            var e = exponential(SixteenFloats(s)).v
            if !seesAll { e = select_within(first, end, Int32(token), e, _mm512_setzero_ps()) }
            _mm512_storeu_ps(scores + token &* BlockAttention.rows, e)
            return e
        }
        @inline(__always)
        func pair(_ token: Int) -> __m512 { _mm512_add_ps(weight(token), weight(token &+ 16)) }
        return _mm512_add_ps(_mm512_add_ps(pair(i), pair(i &+ 8)), _mm512_add_ps(pair(i &+ 4), pair(i &+ 12)))
    }
    let sum = _mm512_add_ps(_mm512_add_ps(weigh(0), weigh(2)), _mm512_add_ps(weigh(1), weigh(3)))
    let total = _mm512_mul_ps(_mm512_loadu_ps(work.sums + row), factor)
    _mm512_storeu_ps(work.sums + row, _mm512_add_ps(total, sum))
    _mm512_storeu_ps(work.maxima + row, maximum)
    return factor
}

@inline(__always)
private func load(_ p: UnsafePointer<Int32>) -> __m512i { UnsafeRawPointer(p).loadUnaligned(as: __m512i.self) }

/// The scores of 16 rows for a token.
@inline(__always)
private func score(_ scores: UnsafePointer<Float>, _ token: Int) -> __m512 {
    _mm512_loadu_ps(scores + token &* BlockAttention.rows)
}

/// Applies softcap and linear bias to the scores of 16 rows.
@inline(never)
private func changeBlock(_ scores: UnsafeMutablePointer<Float>, _ changes: ScoreChanges, _ row: Int) {
    changeScores(SixteenFloats.self, scores, changes, row)
}
