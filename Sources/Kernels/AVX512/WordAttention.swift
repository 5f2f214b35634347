// Attention of 32 query rows, side by side, over one page in 16-bit integers; see `WordPage`, and
// `KernelsPortable.attendPage` for the method.
//
// Scores and weighted values are products of a tile of eight tokens, or eight columns, by two registers of rows: 16 sums.
// The scale of a token's value is part of the token's weight: its logarithm is added to the score, and for the sum of the
// weights the weight is divided by it. Weights are rounded relative to the largest of their row in this page, so that
// pages with small weights keep their precision.

import CIntrinsics
public import KernelFormats

/// Adds one page to the running state of 32 rows, for value widths that are multiples of 8.
///
/// A row's results do not depend on the others', nor on tokens that it does not attend to. With a number in its query, or
/// in a key or value that it attends to, that is not finite they are NaN.
@inline(never)
public func attendWords(_ work: WordAttention) {
    let (rows, page) = (BlockAttention.rows, work.page)
    var token = 0
    while token < pageTokens {
        scores(work, token)
        token &+= 8
    }
    let (low, high) = (softmax(work, 0), softmax(work, 16))
    let keepsOutputs = isOne(low.old) && isOne(high.old)
    var column = 0
    while column < page.valueWidth {
        var sums = WordSums()
        let values = page.values + 4 &* column
        sums.add(values, 4 &* page.valueWidth, UnsafeRawPointer(work.scratch), pageTokens / 2)
        let outputs = work.outputs + column &* rows
        if keepsOutputs {
            sums.forEach { index, first, second in
                let target = outputs + index &* rows
                add(first, low.new, _mm512_loadu_ps(target), target)
                add(second, high.new, _mm512_loadu_ps(target + 16), target + 16)
            }
        } else {
            sums.forEach { index, first, second in
                let target = outputs + index &* rows
                add(first, low.new, _mm512_mul_ps(_mm512_loadu_ps(target), low.old), target)
                add(second, high.new, _mm512_mul_ps(_mm512_loadu_ps(target + 16), high.old), target + 16)
            }
        }
        column &+= 8
    }
}

private let logOfE: Float = 1.442_695_04

/// Computes the scores of eight tokens, times log2(e), plus the logarithms of their values' scales; or, if `work.changes` are
/// still to be applied, the plain scores.
@inline(__always)
private func scores(_ work: WordAttention, _ token: Int) {
    let (rows, page) = (BlockAttention.rows, work.page)
    var sums = WordSums()
    sums.add(page.keys + 4 &* token, 4 &* pageTokens, work.queries, (page.keyWidth &+ 1) / 2)
    let isChanged = !work.changes.isEmpty
    let unit = _mm512_set1_ps(isChanged ? 1 : logOfE)
    let low = _mm512_mul_ps(_mm512_loadu_ps(work.scales), unit)
    let high = _mm512_mul_ps(_mm512_loadu_ps(work.scales + 16), unit)
    let (scales, logarithms) = (page.scales + token, page.logarithms + token)
    sums.forEach { index, first, second in
        let scale = _mm512_set1_ps(scales[index])
        let logarithm = isChanged ? _mm512_setzero_ps() : _mm512_set1_ps(logarithms[index])
        let target = work.scratch + (token &+ index) &* rows
        add(first, _mm512_mul_ps(low, scale), logarithm, target)
        add(second, _mm512_mul_ps(high, scale), logarithm, target + 16)
    }
}

/// Stores `sum + integers · factor`.
@inline(__always)
private func add(_ integers: __m512i, _ factor: __m512, _ sum: __m512, _ target: UnsafeMutablePointer<Float>) {
    _mm512_storeu_ps(target, _mm512_fmadd_ps(_mm512_cvtepi32_ps(integers), factor, sum))
}

/// Turns the scores of 16 rows into weights, integers in pairs of tokens, `[16][32][2]`; 0 for masked tokens.
///
/// - Returns: The factors for the rows' outputs so far, and for the new ones.
@inline(__always)
private func softmax(_ work: WordAttention, _ row: Int) -> (old: __m512, new: __m512) {
    let rows = BlockAttention.rows
    let scores = work.scratch + row
    if !work.changes.isEmpty {
        changeBlock(scores, work.changes, row)
        for token in 0..<pageTokens {
            let place = scores + token &* rows
            let logarithm = _mm512_set1_ps(work.page.logarithms[token])
            _mm512_storeu_ps(place, _mm512_fmadd_ps(_mm512_loadu_ps(place), _mm512_set1_ps(logOfE), logarithm))
        }
    }
    let hidden = _mm512_set1_ps(-.infinity)
    let (first, end) = (load64(work.first + row), load64(work.end + row))
    let unseen = _mm512_or_si512(first, _mm512_xor_si512(end, _mm512_set1_epi32(Int32(pageTokens))))
    let seesAll = _mm512_test_epi32_mask(unseen, unseen) == 0
    if !seesAll {
        for token in 0..<pageTokens {
            let place = scores + token &* rows
            _mm512_storeu_ps(place, select_within(first, end, Int32(token), _mm512_loadu_ps(place), hidden))
        }
    }
    var (h0, h1, h2, h3) = (hidden, hidden, hidden, hidden)
    var token = 0
    while token < pageTokens {
        let place = scores + token &* rows
        h0 = _mm512_max_ps(h0, _mm512_loadu_ps(place))
        h1 = _mm512_max_ps(h1, _mm512_loadu_ps(place + rows))
        h2 = _mm512_max_ps(h2, _mm512_loadu_ps(place + 2 &* rows))
        h3 = _mm512_max_ps(h3, _mm512_loadu_ps(place + 3 &* rows))
        token &+= 4
    }
    // A row that sees no token of the page gets a maximum below all others.
    let highest = _mm512_max_ps(_mm512_max_ps(_mm512_max_ps(h0, h1), _mm512_max_ps(h2, h3)), _mm512_set1_ps(-1e30))
    @inline(__always)
    func weight(_ token: Int) -> __m512 { weightOf(_mm512_sub_ps(_mm512_loadu_ps(scores + token &* rows), highest)) }
    var (even, odd) = (_mm512_setzero_ps(), _mm512_setzero_ps())
    token = 0
    while token < pageTokens {
        let (a, b) = (weight(token), weight(token &+ 1))
        even = _mm512_fmadd_ps(a, _mm512_set1_ps(work.page.inverses[token]), even)
        odd = _mm512_fmadd_ps(b, _mm512_set1_ps(work.page.inverses[token &+ 1]), odd)
        let pair = _mm512_or_si512(_mm512_cvtps_epi32(a), _mm512_slli_epi32(_mm512_cvtps_epi32(b), 16))
        // The scores that lie there were read before.
        _mm512_storeu_ps(scores + token / 2 &* rows, _mm512_castsi512_ps(pair))
        token &+= 2
    }
    let before = _mm512_loadu_ps(work.maxima + row)
    let one = _mm512_set1_ps(1)
    let distance = _mm512_abs_ps(_mm512_sub_ps(before, highest))
    let ratio = powerOfTwo(_mm512_sub_ps(_mm512_setzero_ps(), distance))
    let old = select_above(highest, before, ratio, one)
    let new = _mm512_mul_ps(select_above(before, highest, ratio, one), _mm512_set1_ps(1 / WordPage.largestWeight))
    let total = _mm512_mul_ps(_mm512_loadu_ps(work.sums + row), old)
    _mm512_storeu_ps(work.sums + row, _mm512_fmadd_ps(_mm512_add_ps(even, odd), new, total))
    _mm512_storeu_ps(work.maxima + row, _mm512_max_ps(highest, before))
    return (old, new)
}

/// 2^x for x below 127, with a relative error of 3e-6; about 0 below -125. NaN propagates.
@inline(__always)
private func powerOfTwo(_ x: __m512) -> __m512 {
    powerOfTwo(x, plus: 0) { r in
        var p = _mm512_set1_ps(0.009_570_102)
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.055_917_863))
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.240_247_44))
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.693_121_8))
        return _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.999_999_3))
    }
}

/// `WordPage.largestWeight` · 2^x for x up to 0, with a relative error of 7.5e-5; about 0 below -138. NaN propagates.
@inline(__always)
private func weightOf(_ x: __m512) -> __m512 {
    // 8191 is 2^13 times 8191/8192, which is in the coefficients.
    powerOfTwo(x, plus: 13) { r in
        var p = _mm512_set1_ps(0.055_164_933)
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.242_581_5))
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.693_176_39))
        return _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.999_805_99))
    }
}

/// 2^(x + `exponent`), about 0 where that is below 2^-125.
///
/// - Parameter polynomial: Of least relative error to 2^r, for r in -1/2...1/2.
@inline(__always)
private func powerOfTwo(_ x: __m512, plus exponent: Float, _ polynomial: (__m512) -> __m512) -> __m512 {
    // The sum is rounded to an integer, which is in its low bits.
    let rounding = _mm512_set1_ps(0x1.8p23 + exponent)
    let x = _mm512_max_ps(_mm512_set1_ps(-125 - exponent), x)
    let sum = _mm512_add_ps(x, rounding)
    let r = _mm512_sub_ps(x, _mm512_sub_ps(sum, rounding))
    let bits = _mm512_slli_epi32(_mm512_castps_si512(sum), 23)
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(polynomial(r)), bits))
}

@inline(__always)
private func isOne(_ x: __m512) -> Bool {
    let difference = _mm512_xor_si512(_mm512_castps_si512(x), _mm512_castps_si512(_mm512_set1_ps(1)))
    return _mm512_test_epi32_mask(difference, difference) == 0
}

/// The sums of eight tokens, or columns, for 32 rows.
private struct WordSums {
    private typealias Rows = (__m512i, __m512i)
    private var s0: Rows, s1: Rows, s2: Rows, s3: Rows, s4: Rows, s5: Rows, s6: Rows, s7: Rows

    @inline(__always)
    init() {
        let zero = (_mm512_setzero_si512(), _mm512_setzero_si512())
        (s0, s1, s2, s3, s4, s5, s6, s7) = (zero, zero, zero, zero, zero, zero, zero, zero)
    }

    /// Adds the products of pairs of numbers.
    ///
    /// - Parameters:
    ///   - x: Eight pairs of words, and further ones `stride` bytes apart.
    ///   - w: `[count][32 rows]` pairs of words.
    @inline(__always)
    mutating func add(_ x: UnsafeRawPointer, _ stride: Int, _ w: UnsafeRawPointer, _ count: Int) {
        var (x, w) = (x, w)
        for _ in 0..<count {
            let rows = (load64(w), load64(w + 64))
            Self.add(broadcast(x), rows, &s0)
            Self.add(broadcast(x + 4), rows, &s1)
            Self.add(broadcast(x + 8), rows, &s2)
            Self.add(broadcast(x + 12), rows, &s3)
            Self.add(broadcast(x + 16), rows, &s4)
            Self.add(broadcast(x + 20), rows, &s5)
            Self.add(broadcast(x + 24), rows, &s6)
            Self.add(broadcast(x + 28), rows, &s7)
            x += stride
            w += 128
        }
    }

    @inline(__always)
    private static func add(_ x: __m512i, _ w: Rows, _ sum: inout Rows) {
        sum.0 = _mm512_dpwssd_epi32(sum.0, w.0, x)
        sum.1 = _mm512_dpwssd_epi32(sum.1, w.1, x)
    }

    @inline(__always)
    func forEach(_ body: (Int, __m512i, __m512i) -> Void) {
        body(0, s0.0, s0.1)
        body(1, s1.0, s1.1)
        body(2, s2.0, s2.1)
        body(3, s3.0, s3.1)
        body(4, s4.0, s4.1)
        body(5, s5.0, s5.1)
        body(6, s6.0, s6.1)
        body(7, s7.0, s7.1)
    }
}
