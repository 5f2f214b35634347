public import KernelFormats

/// Turns the scores of a part into weights, integers in pairs of tokens, `[16][32][2]`; 0 for masked tokens. A pair of tokens
/// of a register of rows is computed at a time: all pairs of the lower rows, then those of the higher ones.
@usableFromInline
struct PageWeights<V: IntegerVector> {
    @usableFromInline typealias Floats = V.Floats

    /// Of a register.
    @usableFromInline
    struct Rows {
        @usableFromInline let highest: Floats
        /// Sums of the weights of tokens with even and with odd numbers.
        @usableFromInline var even = Floats(0)
        @usableFromInline var odd = Floats(0)

        @inlinable @inline(__always)
        init(highest: Floats) { self.highest = highest }
    }

    @usableFromInline let scores: UnsafeMutablePointer<Float>
    @usableFromInline let inverses: UnsafePointer<Float>
    @usableFromInline var current: Rows
    @usableFromInline var other: Rows
    /// Number of pairs computed so far.
    @usableFromInline var done = 0

    @inlinable @inline(__always)
    init(_ part: WordAttention) {
        (scores, inverses) = (part.scratch, UnsafePointer(part.page.inverses))
        current = Rows(highest: highestScores(V.self, part, 0))
        other = Rows(highest: highestScores(V.self, part, V.count))
    }

    @inlinable @inline(__always)
    var isComplete: Bool { done == pageTokens }

    /// The first token of the next pair, and its first row.
    @inlinable @inline(__always)
    var next: (token: Int, row: Int) { (2 &* (done & 15), done / 16 &* V.count) }

    /// Computes the weights of the pair's first token.
    @inlinable @inline(__always)
    mutating func first() -> V {
        let (token, row) = next
        let place = scores + token &* BlockAttention.rows + row
        return Self.weights(place, current.highest, inverses[token], &current.even)
    }

    /// Computes those of its second token.
    @inlinable @inline(__always)
    mutating func second(_ first: V) {
        let (token, row) = next
        let place = scores + (token &+ 1) &* BlockAttention.rows + row
        let second = Self.weights(place, current.highest, inverses[token &+ 1], &current.odd)
        // The scores that lie there were read before.
        (first | second.shiftedLeft(by: 16)).store(scores + token / 2 &* BlockAttention.rows + row)
        done &+= 1
        if done == pageTokens / 2 { swap(&current, &other) }
    }

    /// The weights of a token, whose sum they are added to, divided by the scale of its value.
    @inlinable @inline(__always)
    static func weights(
        _ scores: UnsafePointer<Float>, _ highest: Floats, _ inverse: Float, _ sum: inout Floats
    ) -> V {
        let weight = weightOf(V.self, .load(scores) - highest)
        sum = .multiplyAdd(weight, Floats(inverse), sum)
        return V(rounding: weight)
    }

    /// Computes all pairs that are left, and adds the weights to the part's sums.
    @inlinable @inline(__always)
    mutating func finish(_ part: WordAttention) -> (low: OutputFactors<V>, high: OutputFactors<V>) {
        while !isComplete { second(first()) }
        return (
            OutputFactors(part, 0, other.highest, sum: other.even + other.odd),
            OutputFactors(part, V.count, current.highest, sum: current.even + current.odd)
        )
    }
}

/// The highest scores of a register of rows in the page, after masked ones are set to -infinity.
@inlinable @inline(__always)
func highestScores<V: IntegerVector>(_: V.Type, _ part: WordAttention, _ row: Int) -> V.Floats {
    typealias Floats = V.Floats
    let rows = BlockAttention.rows
    let scores = part.scratch + row
    let hidden = Floats(-.infinity)
    let (first, end) = (V.load(part.first + row), V.load(part.end + row))
    let seesAll = V.areEqual(first, V(0)) && V.areEqual(end, V(Int32(pageTokens)))
    if !seesAll {
        for token in 0..<pageTokens {
            let place = scores + token &* rows
            V.choose(Int32(token), from: first, to: end, .load(place), else: hidden).store(place)
        }
    }
    var (h0, h1, h2, h3) = (hidden, hidden, hidden, hidden)
    for token in stride(from: 0, to: pageTokens, by: 4) {
        let place = scores + token &* rows
        h0 = .max(h0, .load(place))
        h1 = .max(h1, .load(place + rows))
        h2 = .max(h2, .load(place + 2 &* rows))
        h3 = .max(h3, .load(place + 3 &* rows))
    }
    // A row that sees no token of the page gets a maximum below all others.
    return .max(.max(.max(h0, h1), .max(h2, h3)), Floats(-1e30))
}

/// The factors for outputs so far of a register of rows, and for the sums of a page's weighted values.
@usableFromInline
struct OutputFactors<V: IntegerVector> {
    @usableFromInline typealias Floats = V.Floats
    @usableFromInline let old: Floats
    @usableFromInline let new: Floats

    /// Whether the outputs so far stay as they are.
    @inlinable @inline(__always)
    var keepsOutputs: Bool { V.areEqual(V(bitsOf: old), V(bitsOf: Floats(1))) }

    /// Updates the rows' maxima and sums.
    ///
    /// - Parameters:
    ///   - highest: The highest scores in the page.
    ///   - sum: Of the page's weights.
    @inlinable @inline(__always)
    init(_ part: WordAttention, _ row: Int, _ highest: Floats, sum: Floats) {
        var highest = highest
        if part.page.hasByteKeys {
            let bases = ByteQueries(after: part.queries, width: part.page.keyWidth).bases
            highest = .multiplyAdd(.load(bases + row), Floats(logOfE), highest)
        }
        let before = Floats.load(part.maxima + row)
        let one = Floats(1)
        let above = highest - before
        let ratio = powerOfTwo(V.self, .min(above, Floats(0) - above))
        old = V.choose(highest, above: before, ratio, else: one)
        new = V.choose(before, above: highest, ratio, else: one) * Floats(1 / WordPage.largestWeight)
        let total = Floats.load(part.sums + row) * old
        Floats.multiplyAdd(sum, new, total).store(part.sums + row)
        Floats.max(highest, before).store(part.maxima + row)
    }
}

/// 2^x for x below 127, with a relative error of 3e-6; about 0 below -125. NaN propagates.
@inlinable @inline(__always)
func powerOfTwo<V: IntegerVector>(_: V.Type, _ x: V.Floats) -> V.Floats {
    powerOfTwo(V.self, x, plus: 0) { r in
        var p = V.Floats(0.009_570_102)
        p = .multiplyAdd(p, r, V.Floats(0.055_917_863))
        p = .multiplyAdd(p, r, V.Floats(0.240_247_44))
        p = .multiplyAdd(p, r, V.Floats(0.693_121_8))
        return .multiplyAdd(p, r, V.Floats(0.999_999_3))
    }
}

/// `WordPage.largestWeight` · 2^x for x up to 0, with a relative error of 7.5e-5; about 0 below -138. NaN propagates.
@inlinable @inline(__always)
func weightOf<V: IntegerVector>(_: V.Type, _ x: V.Floats) -> V.Floats {
    // 8191 is 2^13 times 8191/8192, which is in the coefficients.
    powerOfTwo(V.self, x, plus: 13) { r in
        var p = V.Floats(0.055_164_933)
        p = .multiplyAdd(p, r, V.Floats(0.242_581_5))
        p = .multiplyAdd(p, r, V.Floats(0.693_176_39))
        return .multiplyAdd(p, r, V.Floats(0.999_805_99))
    }
}

/// 2^(x + `exponent`), about 0 where that is below 2^-125.
///
/// - Parameter polynomial: Of least relative error to 2^r, for r in -1/2...1/2.
@inlinable @inline(__always)
func powerOfTwo<V: IntegerVector>(
    _: V.Type, _ x: V.Floats, plus exponent: Float, _ polynomial: (V.Floats) -> V.Floats
) -> V.Floats {
    // The sum is rounded to an integer, which is in its low bits.
    let rounding = V.Floats(0x1.8p23 + exponent)
    let x = V.Floats.max(V.Floats(-125 - exponent), x)
    let sum = x + rounding
    let r = x - (sum - rounding)
    return (V(bitsOf: polynomial(r)) + V(bitsOf: sum).shiftedLeft(by: 23)).asFloats
}
