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
    /// Whether `ByteKeys` are in the place of `keys`.
    public let hasByteKeys: Bool

    @inlinable
    public init(_ base: UnsafeMutableRawPointer, keyWidth: Int, valueWidth: Int, hasByteKeys: Bool = false) {
        (self.base, self.keyWidth, self.valueWidth) = (base, keyWidth, valueWidth)
        self.hasByteKeys = hasByteKeys
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
        pageTokens * ((keyWidth + 1) / 2 + 3) + pageTokens / 2 * valueWidth + keyWidth * (1 + pageTokens)
    }

    @inlinable public var keys: UnsafeMutableRawPointer { base }
    @inlinable public var values: UnsafeMutableRawPointer { base + 4 &* pageTokens &* ((keyWidth &+ 1) / 2) }
    @inlinable public var scales: UnsafeMutablePointer<Float> {
        (values + 2 &* pageTokens &* valueWidth).assumingMemoryBound(to: Float.self)
    }
    @inlinable public var logarithms: UnsafeMutablePointer<Float> { scales + pageTokens }
    @inlinable public var inverses: UnsafeMutablePointer<Float> { scales + 2 &* pageTokens }

    /// `[D]` f32 what is taken from keys before they become `ByteKeys`, and room for them, `[D][32]` f32.
    @inlinable public var keyBase: UnsafeMutablePointer<Float> { scales + 3 &* pageTokens }
    @inlinable public var keyRoom: UnsafeMutablePointer<Float> { keyBase + keyWidth }
}

/// Keys of a page as 8-bit integers, for which `vpdpbusd` does twice as many multiplications as `vpdpwssd`.
///
/// They serve pages that lie well before a row: all but the first page, which often has most of the weight, and those of the
/// last 1 to 128 tokens (`pages`). Two things keep their error small. The mean of the first page's keys, the base, is
/// subtracted from all keys: what they have in common, mostly by biases. And keys and queries are rotated by a Hadamard matrix
/// H, which leaves the scores as they are but spreads a few large numbers over all (QuaRot, Ashkboos et al. 2024).
///
///     codes  [D / 4][32 tokens][4] i8   H · (key − base) / scale, where `WordPage.scales` has the scale
///     starts [32] i32                   −128 · Σ codes
///
/// H consists of ones and minus ones, so that H · H = D.
public struct ByteKeys {
    public let codes: UnsafeMutableRawPointer
    public let width: Int

    @inlinable
    public init(of page: WordPage) { (codes, width) = (page.keys, page.keyWidth) }

    /// Whether keys of this width can be bytes.
    @inlinable
    public static func fits(_ width: Int) -> Bool { (32...512).contains(width) && width & (width &- 1) == 0 }

    /// The pages whose keys are bytes for a row at `position`; the same for 128 positions.
    @inlinable
    public static func pages(seenFrom position: Int) -> Range<Int> { 1..<max(1, position / 128 * 128 / pageTokens) }

    public static let largestCode: Float = 127

    @inlinable public var starts: UnsafeMutablePointer<Int32> {
        (codes + pageTokens &* width).assumingMemoryBound(to: Int32.self)
    }
}

/// 32 queries side by side as bytes, behind their `[D / 2][32][2]` i16.
///
///     codes  [D / 4][32][4] u8   H · query / (D · scale) + 128
///     scales [32] f32
///     bases  [32] f32            query · base of the keys
public struct ByteQueries {
    public let words: UnsafeMutableRawPointer
    public let width: Int

    @inlinable
    public init(after words: UnsafeMutableRawPointer, width: Int) { (self.words, self.width) = (words, width) }

    @inlinable public var codes: UnsafeMutableRawPointer { words + 64 &* width }
    @inlinable public var scales: UnsafeMutablePointer<Float> {
        (words + 96 &* width).assumingMemoryBound(to: Float.self)
    }
    @inlinable public var bases: UnsafeMutablePointer<Float> { scales + BlockAttention.rows }
}

/// One page of keys and values in 16-bit integers for blocks of 32 query rows side by side. Fields without a comment are
/// those of `BlockAttention`, of the first block.
public struct WordAttention {
    public var count: Int
    /// Floats from a block's queries to those of the next one, and from its outputs to the next ones. All else has 32
    /// numbers a block.
    public var stride: Int
    /// `[(D + 1) / 2][32][2]` i16 queries, already scaled by 1/√D, and the scale of each, `[32]`; for a page with `ByteKeys`
    /// followed by `ByteQueries`.
    public var queries: UnsafeMutableRawPointer
    public var scales: UnsafePointer<Float>
    /// `[Dv][32]` the unnormalized outputs so far.
    public var outputs: UnsafeMutablePointer<Float>
    public var first: UnsafePointer<Int32>
    public var end: UnsafePointer<Int32>
    public var page: WordPage
    /// `[32]` running maxima of the scores as logarithms to base 2, with the scales of the values; initially `-infinity`.
    public var maxima: UnsafeMutablePointer<Float>
    public var sums: UnsafeMutablePointer<Float>
    /// Scratch of `2 · 32 · 32` floats.
    public var scratch: UnsafeMutablePointer<Float>
    /// None for a page with `ByteKeys`.
    public var changes: ScoreChanges

    @inlinable
    public init(
        count: Int, stride: Int, queries: UnsafeMutableRawPointer, scales: UnsafePointer<Float>,
        outputs: UnsafeMutablePointer<Float>, first: UnsafePointer<Int32>, end: UnsafePointer<Int32>, page: WordPage,
        maxima: UnsafeMutablePointer<Float>, sums: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>,
        changes: ScoreChanges = ScoreChanges()
    ) {
        (self.count, self.stride) = (count, stride)
        (self.queries, self.scales, self.outputs) = (queries, scales, outputs)
        (self.first, self.end, self.page) = (first, end, page)
        (self.maxima, self.sums, self.scratch, self.changes) = (maxima, sums, scratch, changes)
    }

    /// A block alone, or a part of its rows. Neighbouring blocks have different scratch.
    ///
    /// - Parameters:
    ///   - index: Parts are counted over all blocks.
    ///   - rows: Rows of a part: 32 or a smaller power of two.
    @inlinable
    public func part(_ index: Int, rows: Int) -> WordAttention {
        let (row, size) = (rows &* index, BlockAttention.rows)
        let (block, first) = (row / size, row % size)
        let start = stride &* block &+ first
        return WordAttention(
            count: 1, stride: stride, queries: queries + 4 &* start, scales: scales + row, outputs: outputs + start,
            first: self.first + row, end: end + row, page: page, maxima: maxima + row, sums: sums + row,
            scratch: scratch + (block % 2 &* pageTokens &* size &+ first), changes: changes.from(row))
    }
    /// Whether one of the first `rows` rows attends to a token of the page.
    @inlinable
    public func isSeen(fromRows rows: Int) -> Bool { (0..<rows).contains { first[$0] < end[$0] } }
}
