// Attention of 32 query rows, side by side, over one page in 16-bit integers, or with keys of 8 bits; see `WordPage`,
// `ByteKeys`, and `KernelsPortable.attendPage` for the method.
//
// Scores and weighted values are products of a tile of eight tokens, or eight columns, by two registers of rows: 16 sums.
// The scale of a token's value is part of the token's weight: its logarithm is added to the score, and for the sum of the
// weights the weight is divided by it. Weights are rounded relative to the largest of their row in this page, so that
// pages with small weights keep their precision.

import CIntrinsics
public import KernelFormats

/// Adds one page to the running state of blocks of 32 rows, for value widths that are multiples of 8.
///
/// A row's results do not depend on the others', nor on tokens that it does not attend to. With a number in its query, or
/// in a key or value that it attends to, that is not finite they are NaN.
@inline(never)
public func attendWords(_ work: WordAttention) {
    var block = work.block(0)
    computeScores(block)
    var weights = PageWeights(block)
    var factors = weights.finish(block)
    for index in 1..<max(1, work.count) {
        let next = work.block(index)
        computeScores(next)
        weights = PageWeights(next)
        addValues(block, factors.low, factors.high, beside: &weights)
        factors = weights.finish(next)
        block = next
    }
    addValues(block, factors.low, factors.high, beside: &weights)
}

/// Adds the weighted values of a block, and computes weights of the next one in between: most instructions of a softmax need
/// other units than products of integers do.
@inline(__always)
private func addValues(
    _ block: WordAttention, _ low: OutputFactors, _ high: OutputFactors, beside next: inout PageWeights
) {
    let (rows, page, pairs) = (BlockAttention.rows, block.page, pageTokens / 2)
    let keepsOutputs = isOne(low.old) && isOne(high.old)
    let stride = 4 &* page.valueWidth
    // Of each tile of eight columns: pairs of weights beside it, and pairs of values before each of their tokens.
    let weightPairs = min(pairs / 2, (16 &* pairs &+ page.valueWidth &- 1) / page.valueWidth)
    let valuePairs = pairs / (2 &* weightPairs)
    var column = 0
    while column < page.valueWidth {
        var sums = TileSums()
        var (values, weights, left) = (page.values + 4 &* column, UnsafeRawPointer(block.scratch), pairs)
        @inline(__always)
        func add(_ count: Int) {
            sums.add(Words.self, values, stride, weights, count)
            values += stride &* count
            weights += 4 &* rows &* count
            left &-= count
        }
        for _ in 0..<weightPairs where !next.isComplete {
            add(valuePairs)
            let first = next.first()
            add(valuePairs)
            next.second(first)
        }
        add(left)
        let outputs = block.outputs + column &* rows
        if keepsOutputs {
            sums.forEach { index, first, second in
                let target = outputs + index &* rows
                store(first, low.new, _mm512_loadu_ps(target), target)
                store(second, high.new, _mm512_loadu_ps(target + 16), target + 16)
            }
        } else {
            sums.forEach { index, first, second in
                let target = outputs + index &* rows
                store(first, low.new, _mm512_mul_ps(_mm512_loadu_ps(target), low.old), target)
                store(second, high.new, _mm512_mul_ps(_mm512_loadu_ps(target + 16), high.old), target + 16)
            }
        }
        column &+= 8
    }
}

/// Computes a block's scores, times log2(e), plus the logarithms of the values' scales; or, if `changes` are still to be
/// applied, the plain scores. With bytes, they lack the product with the base, which all tokens of the page have in common.
@inline(__always)
private func computeScores(_ block: WordAttention) {
    let page = block.page
    var token = 0
    while token < pageTokens {
        if page.hasByteKeys {
            let (keys, queries) = (ByteKeys(of: page), ByteQueries(after: block.queries, width: page.keyWidth))
            var sums = TileSums(from: keys.starts + token)
            sums.add(Bytes.self, keys.codes + 4 &* token, 4 &* pageTokens, queries.codes, page.keyWidth / 4)
            store(sums, queries.scales, block, token)
        } else {
            var sums = TileSums()
            sums.add(Words.self, page.keys + 4 &* token, 4 &* pageTokens, block.queries, (page.keyWidth &+ 1) / 2)
            store(sums, block.scales, block, token)
        }
        token &+= 8
    }
}

private let logOfE: Float = 1.442_695_04

@inline(__always)
private func store(_ sums: TileSums, _ queryScales: UnsafePointer<Float>, _ work: WordAttention, _ token: Int) {
    let (rows, page) = (BlockAttention.rows, work.page)
    let isChanged = !work.changes.isEmpty
    let unit = _mm512_set1_ps(isChanged ? 1 : logOfE)
    let low = _mm512_mul_ps(_mm512_loadu_ps(queryScales), unit)
    let high = _mm512_mul_ps(_mm512_loadu_ps(queryScales + 16), unit)
    let (scales, logarithms) = (page.scales + token, page.logarithms + token)
    sums.forEach { index, first, second in
        let scale = _mm512_set1_ps(scales[index])
        let logarithm = isChanged ? _mm512_setzero_ps() : _mm512_set1_ps(logarithms[index])
        let target = work.scratch + (token &+ index) &* rows
        store(first, _mm512_mul_ps(low, scale), logarithm, target)
        store(second, _mm512_mul_ps(high, scale), logarithm, target + 16)
    }
}

/// Stores `sum + integers · factor`.
@inline(__always)
private func store(_ integers: __m512i, _ factor: __m512, _ sum: __m512, _ target: UnsafeMutablePointer<Float>) {
    _mm512_storeu_ps(target, _mm512_fmadd_ps(_mm512_cvtepi32_ps(integers), factor, sum))
}

/// Turns the scores of a block into weights, integers in pairs of tokens, `[16][32][2]`; 0 for masked tokens. A pair of tokens
/// of 16 rows is computed at a time: all pairs of the lower rows, then those of the higher ones.
private struct PageWeights {
    /// Of 16 rows.
    private struct Rows {
        let highest: __m512
        /// Sums of the weights of tokens with even and with odd numbers.
        var even = _mm512_setzero_ps()
        var odd = _mm512_setzero_ps()
    }

    private let scores: UnsafeMutablePointer<Float>
    private let inverses: UnsafePointer<Float>
    private var current: Rows
    private var other: Rows
    /// Number of pairs computed so far.
    private var done = 0

    @inline(__always)
    init(_ block: WordAttention) {
        (scores, inverses) = (block.scratch, UnsafePointer(block.page.inverses))
        current = Rows(highest: highestScores(block, 0))
        other = Rows(highest: highestScores(block, 16))
    }

    @inline(__always)
    var isComplete: Bool { done == pageTokens }

    /// The first token of the next pair, and its first row.
    @inline(__always)
    private var next: (token: Int, row: Int) { (2 &* (done & 15), done & 16) }

    /// Computes the weights of the pair's first token.
    @inline(__always)
    mutating func first() -> __m512i {
        let (token, row) = next
        let place = scores + token &* BlockAttention.rows + row
        return Self.weights(place, current.highest, inverses[token], &current.even)
    }

    /// Computes those of its second token.
    @inline(__always)
    mutating func second(_ first: __m512i) {
        let (token, row) = next
        let place = scores + (token &+ 1) &* BlockAttention.rows + row
        let second = Self.weights(place, current.highest, inverses[token &+ 1], &current.odd)
        let pair = _mm512_or_si512(first, _mm512_slli_epi32(second, 16))
        // The scores that lie there were read before.
        _mm512_storeu_ps(scores + token / 2 &* BlockAttention.rows + row, _mm512_castsi512_ps(pair))
        done &+= 1
        if done == pageTokens / 2 { swap(&current, &other) }
    }

    /// The weights of a token, whose sum they are added to, divided by the scale of its value.
    @inline(__always)
    private static func weights(
        _ scores: UnsafePointer<Float>, _ highest: __m512, _ inverse: Float, _ sum: inout __m512
    ) -> __m512i {
        let weight = weightOf(_mm512_sub_ps(_mm512_loadu_ps(scores), highest))
        sum = _mm512_fmadd_ps(weight, _mm512_set1_ps(inverse), sum)
        return _mm512_cvtps_epi32(weight)
    }

    /// Computes all pairs that are left, and adds the weights to the block's sums.
    @inline(__always)
    mutating func finish(_ block: WordAttention) -> (low: OutputFactors, high: OutputFactors) {
        while !isComplete { second(first()) }
        return (
            OutputFactors(block, 0, other.highest, sum: _mm512_add_ps(other.even, other.odd)),
            OutputFactors(block, 16, current.highest, sum: _mm512_add_ps(current.even, current.odd))
        )
    }
}

/// The highest scores of 16 rows in the page, after the changes of scores and with masked ones set to -infinity.
@inline(__always)
private func highestScores(_ block: WordAttention, _ row: Int) -> __m512 {
    let rows = BlockAttention.rows
    let scores = block.scratch + row
    if !block.changes.isEmpty {
        changeBlock(scores, block.changes, row)
        for token in 0..<pageTokens {
            let place = scores + token &* rows
            let logarithm = _mm512_set1_ps(block.page.logarithms[token])
            _mm512_storeu_ps(place, _mm512_fmadd_ps(_mm512_loadu_ps(place), _mm512_set1_ps(logOfE), logarithm))
        }
    }
    let hidden = _mm512_set1_ps(-.infinity)
    let (first, end) = (load64(block.first + row), load64(block.end + row))
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
    return _mm512_max_ps(_mm512_max_ps(_mm512_max_ps(h0, h1), _mm512_max_ps(h2, h3)), _mm512_set1_ps(-1e30))
}

/// The factors for 16 rows' outputs so far, and for the sums of a page's weighted values.
private struct OutputFactors {
    let old: __m512
    let new: __m512

    /// Updates the rows' maxima and sums.
    ///
    /// - Parameters:
    ///   - highest: The highest scores in the page.
    ///   - sum: Of the page's weights.
    @inline(__always)
    init(_ block: WordAttention, _ row: Int, _ highest: __m512, sum: __m512) {
        var highest = highest
        if block.page.hasByteKeys {
            let bases = ByteQueries(after: block.queries, width: block.page.keyWidth).bases
            highest = _mm512_fmadd_ps(_mm512_loadu_ps(bases + row), _mm512_set1_ps(logOfE), highest)
        }
        let before = _mm512_loadu_ps(block.maxima + row)
        let one = _mm512_set1_ps(1)
        let distance = _mm512_abs_ps(_mm512_sub_ps(before, highest))
        let ratio = powerOfTwo(_mm512_sub_ps(_mm512_setzero_ps(), distance))
        old = select_above(highest, before, ratio, one)
        new = _mm512_mul_ps(select_above(before, highest, ratio, one), _mm512_set1_ps(1 / WordPage.largestWeight))
        let total = _mm512_mul_ps(_mm512_loadu_ps(block.sums + row), old)
        _mm512_storeu_ps(block.sums + row, _mm512_fmadd_ps(sum, new, total))
        _mm512_storeu_ps(block.maxima + row, _mm512_max_ps(highest, before))
    }
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

/// 16 rows, and 16 others.
private typealias Rows = (__m512i, __m512i)

/// Integers of 32 bits: pairs of words or four bytes.
private protocol ProductFormat {
    /// Adds their products.
    static func add(_ x: __m512i, _ w: Rows, _ sum: inout Rows)
}

private enum Words: ProductFormat {
    @inline(__always)
    static func add(_ x: __m512i, _ w: Rows, _ sum: inout Rows) {
        sum.0 = _mm512_dpwssd_epi32(sum.0, w.0, x)
        sum.1 = _mm512_dpwssd_epi32(sum.1, w.1, x)
    }
}

/// Signed bytes of tokens, unsigned bytes of rows.
private enum Bytes: ProductFormat {
    @inline(__always)
    static func add(_ x: __m512i, _ w: Rows, _ sum: inout Rows) {
        sum.0 = _mm512_dpbusd_epi32(sum.0, w.0, x)
        sum.1 = _mm512_dpbusd_epi32(sum.1, w.1, x)
    }
}

/// The sums of eight tokens, or columns, for 32 rows.
private struct TileSums {
    private var s0: Rows, s1: Rows, s2: Rows, s3: Rows, s4: Rows, s5: Rows, s6: Rows, s7: Rows

    @inline(__always)
    init() {
        let zero = (_mm512_setzero_si512(), _mm512_setzero_si512())
        (s0, s1, s2, s3, s4, s5, s6, s7) = (zero, zero, zero, zero, zero, zero, zero, zero)
    }

    /// - Parameter starts: Of the eight tokens.
    @inline(__always)
    init(from starts: UnsafePointer<Int32>) {
        @inline(__always)
        func both(_ index: Int) -> Rows {
            let start = broadcast(UnsafeRawPointer(starts + index))
            return (start, start)
        }
        (s0, s1, s2, s3) = (both(0), both(1), both(2), both(3))
        (s4, s5, s6, s7) = (both(4), both(5), both(6), both(7))
    }

    /// Adds products.
    ///
    /// - Parameters:
    ///   - x: Integers of eight tokens, and further ones `stride` bytes apart.
    ///   - w: `[count][32 rows]` integers.
    @inline(__always)
    mutating func add<Format: ProductFormat>(
        _: Format.Type, _ x: UnsafeRawPointer, _ stride: Int, _ w: UnsafeRawPointer, _ count: Int
    ) {
        var (x, w) = (x, w)
        for _ in 0..<count {
            let rows = (load64(w), load64(w + 64))
            Format.add(broadcast(x), rows, &s0)
            Format.add(broadcast(x + 4), rows, &s1)
            Format.add(broadcast(x + 8), rows, &s2)
            Format.add(broadcast(x + 12), rows, &s3)
            Format.add(broadcast(x + 16), rows, &s4)
            Format.add(broadcast(x + 20), rows, &s5)
            Format.add(broadcast(x + 24), rows, &s6)
            Format.add(broadcast(x + 28), rows, &s7)
            x += stride
            w += 128
        }
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
