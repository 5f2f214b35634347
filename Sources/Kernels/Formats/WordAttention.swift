/// A page of keys and values of one KV head, of widths D and Dv, as 16-bit integers.
///
/// `vpdpwssd` does twice as many multiplications as the multiply-add of floats. A token's integers and scales depend on its
/// key and value alone, never on other tokens of the page, which may not be computed yet.
///
/// A key is `scale · codes`, and so is a query. The scale is chosen so that the squares of all D codes sum up to at most
/// `length²`. By the Cauchy-Schwarz inequality their product is then below 2^31.
///
/// A value is `scale · codes`, with codes of at most `largestValue`. The sum of 32 products with weights of at most
/// `largestWeight` is below 2^31.
///
///     keys       [(D + 1) / 2][32 tokens][2] i16
///     values     [16 pairs of tokens][Dv][2] i16
///     scales     [32] f32      of keys; NaN if a number of the key is not finite
///     logarithms [32] f32      log2(scale) of values; NaN if a number of the value is not finite
///     inverses   [32] f32      1 / scale of values
public struct WordPage {
    public let base: UnsafeMutableRawPointer
    public let keyWidth: Int
    public let valueWidth: Int

    @inlinable
    public init(_ base: UnsafeMutableRawPointer, keyWidth: Int, valueWidth: Int) {
        (self.base, self.keyWidth, self.valueWidth) = (base, keyWidth, valueWidth)
    }

    /// Below 46,341, whose square is 2^31, by more than rounding adds to a vector of `mostWidth` numbers.
    public static let length: Float = 46_300
    public static let mostWidth = 4096
    public static let largestCode: Float = 32_767
    public static let largestValue: Float = 8191
    public static let largestWeight: Float = 8191

    /// Number of 4-byte numbers.
    @inlinable
    public static func count(keyWidth: Int, valueWidth: Int) -> Int {
        pageTokens * ((keyWidth + 1) / 2 + 3) + pageTokens / 2 * valueWidth
    }

    @inlinable public var keys: UnsafeMutableRawPointer { base }
    @inlinable public var values: UnsafeMutableRawPointer { base + 4 &* pageTokens &* ((keyWidth &+ 1) / 2) }
    @inlinable public var scales: UnsafeMutablePointer<Float> {
        (values + 2 &* pageTokens &* valueWidth).assumingMemoryBound(to: Float.self)
    }
    @inlinable public var logarithms: UnsafeMutablePointer<Float> { scales + pageTokens }
    @inlinable public var inverses: UnsafeMutablePointer<Float> { scales + 2 &* pageTokens }
}

/// One page of keys and values in 16-bit integers for 32 query rows side by side. Fields without a comment are those of
/// `BlockAttention`.
public struct WordAttention {
    /// `[(D + 1) / 2][32][2]` i16 queries, already scaled by 1/√D, and the scale of each, `[32]`.
    public var queries: UnsafeRawPointer
    public var scales: UnsafePointer<Float>
    /// `[Dv][32]` the unnormalized outputs so far.
    public var outputs: UnsafeMutablePointer<Float>
    public var first: UnsafePointer<Int32>
    public var end: UnsafePointer<Int32>
    public var page: WordPage
    /// `[32]` running maxima of the scores as logarithms to base 2, with the scales of the values; initially `-infinity`.
    public var maxima: UnsafeMutablePointer<Float>
    public var sums: UnsafeMutablePointer<Float>
    /// Scratch of `32 · 32` floats.
    public var scratch: UnsafeMutablePointer<Float>
    public var changes: ScoreChanges

    @inlinable
    public init(
        queries: UnsafeRawPointer, scales: UnsafePointer<Float>, outputs: UnsafeMutablePointer<Float>,
        first: UnsafePointer<Int32>, end: UnsafePointer<Int32>, page: WordPage, maxima: UnsafeMutablePointer<Float>,
        sums: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>, changes: ScoreChanges = ScoreChanges()
    ) {
        (self.queries, self.scales, self.outputs) = (queries, scales, outputs)
        (self.first, self.end, self.page) = (first, end, page)
        (self.maxima, self.sums, self.scratch, self.changes) = (maxima, sums, scratch, changes)
    }
}
