// Arguments of kernels with many parameters, as structures.

/// Tokens in a page of the KV cache.
@inlinable public var pageTokens: Int { 32 }
/// Maximum rows whose scores a tier's kernel holds at a time.
@inlinable public var attendRows: Int { 8 }

/// A product of floats: C[tokens, rows] (+)= A[tokens, k] · W[rows, k]ᵀ.
public struct FloatProduct {
    /// Activations, `aStride` floats from token to token.
    public var a: UnsafePointer<Float>
    public var aStride: Int
    public var tokens: Int
    /// Weights, `wStride` floats from row to row.
    public var w: UnsafePointer<Float>
    public var wStride: Int
    public var rows: Int
    /// Number of columns of both, a multiple of 8.
    public var count: Int
    /// The first token's result for the first row. The next row is one float further, the next token `cStride`.
    public var c: UnsafeMutablePointer<Float>
    public var cStride: Int
    /// Whether to add to `c` or to replace it.
    public var accumulate: Bool

    @inlinable
    public init(
        a: UnsafePointer<Float>, aStride: Int, tokens: Int, w: UnsafePointer<Float>, wStride: Int, rows: Int,
        count: Int, c: UnsafeMutablePointer<Float>, cStride: Int, accumulate: Bool
    ) {
        (self.a, self.aStride, self.tokens) = (a, aStride, tokens)
        (self.w, self.wStride, self.rows) = (w, wStride, rows)
        (self.count, self.c, self.cStride, self.accumulate) = (count, c, cStride, accumulate)
    }
}

/// The second product of low-rank updates: C[tokens, outputs] += H[tokens, rank] · B[outputs, rank]ᵀ.
public struct LowRankProduct {
    /// Outputs in a group of B.
    @inlinable public static var groupOutputs: Int { 16 }

    /// `rank` values of each token.
    public var h: UnsafePointer<Float>
    public var tokens: Int
    public var rank: Int
    /// B in groups of outputs, `[groups][rank][groupOutputs]`.
    public var b: UnsafePointer<Float>
    /// Outputs of `b` that are computed.
    public var outputs: Range<Int>
    /// The first token's value for the first of these outputs. The next token is `cStride` floats further.
    public var c: UnsafeMutablePointer<Float>
    public var cStride: Int

    @inlinable
    public init(
        h: UnsafePointer<Float>, tokens: Int, rank: Int, b: UnsafePointer<Float>, outputs: Range<Int>,
        c: UnsafeMutablePointer<Float>, cStride: Int
    ) {
        (self.h, self.tokens, self.rank) = (h, tokens, rank)
        (self.b, self.outputs, self.c, self.cStride) = (b, outputs, c, cStride)
    }
}

/// A product of one token and rows of 16-bit floats: C[rows] = A[columns] · W[rows, columns]ᵀ.
public struct HalfProduct {
    public var a: UnsafePointer<Float>
    /// `[rows][columns]`, F16 or BF16, in any alignment.
    public var w: UnsafeRawPointer
    public var isBFloat16: Bool
    public var rows: Int
    /// A multiple of 8.
    public var columns: Int
    /// Columns per partial sum, a multiple of 8; the partial sums are then added.
    public var depth: Int
    public var c: UnsafeMutablePointer<Float>

    @inlinable
    public init(
        a: UnsafePointer<Float>, w: UnsafeRawPointer, isBFloat16: Bool, rows: Int, columns: Int, depth: Int,
        c: UnsafeMutablePointer<Float>
    ) {
        (self.a, self.w, self.isBFloat16, self.rows) = (a, w, isBFloat16, rows)
        (self.columns, self.depth, self.c) = (columns, depth, c)
    }
}

/// A product of floats and bfloat16 weights: C[tokens, rows] (+)= A[tokens, columns] · W[rows, columns]ᵀ.
public struct BFloatProduct {
    /// Activations, `aStride` floats from token to token.
    public var a: UnsafePointer<Float>
    public var aStride: Int
    public var tokens: Int
    /// Weights in any alignment, `wStride` bytes from row to row.
    public var w: UnsafeRawPointer
    public var wStride: Int
    public var rows: Int
    /// A multiple of 8.
    public var columns: Int
    /// The first token's result for the first row. The next row is one float further, the next token `cStride`.
    public var c: UnsafeMutablePointer<Float>
    public var cStride: Int
    /// Whether to add to `c` or to replace it.
    public var accumulate: Bool
    /// Room for the activations of `tokens`, or of one more if that is odd.
    public var scratch: UnsafeMutableRawPointer

    @inlinable
    public init(
        a: UnsafePointer<Float>, aStride: Int, tokens: Int, w: UnsafeRawPointer, wStride: Int, rows: Int,
        columns: Int, c: UnsafeMutablePointer<Float>, cStride: Int, accumulate: Bool, scratch: UnsafeMutableRawPointer
    ) {
        (self.a, self.aStride, self.tokens) = (a, aStride, tokens)
        (self.w, self.wStride, self.rows, self.columns) = (w, wStride, rows, columns)
        (self.c, self.cStride, self.accumulate, self.scratch) = (c, cStride, accumulate, scratch)
    }
}

/// Where results will be copied to, which a kernel may prefetch.
public struct Destination {
    /// Of a token, the results for the first group of 16 rows; `nil`: there is nothing to prefetch yet.
    @OptionalPointer public var first: UnsafePointer<Float>?
    /// Floats to the results of the next token.
    public let stride: Int

    @inlinable
    public init(_ first: UnsafePointer<Float>? = nil, stride: Int = 0) {
        self.stride = stride
        self.first = first
    }

    /// Of the token that is `count` tokens further.
    @inlinable
    public func advanced(by count: Int) -> Destination {
        guard let first else { return self }
        return Destination(first + count &* stride, stride: stride)
    }
}

/// A product of a tile of quantized activations (`IntegerTile`) and panels of unpacked weights (`IntegerPanel`).
public struct TileProduct {
    public var layout: PackedLayout
    public var tile: UnsafeRawPointer
    /// Bytes to the next tile, which may be prefetched.
    public var tileStride: Int
    /// Columns of the tile: 2, 4 or 6. All must hold numbers, also those that `tokens` does not count.
    public var columns: Int
    /// Whether the tile's columns are pairs; required if the tier's format `needsPairs`.
    public var pairs: Bool
    /// `panelCount` panels of 16 weight rows each, `panelBytes` apart.
    public var panels: UnsafeRawPointer
    public var panelBytes: Int
    public var panelCount: Int
    /// Number of columns of the matrix, divided by 32; at most 8 on AVX2.
    public var parts: Int
    /// `[6][16]` floats per panel, a row per token of the tile. Rows beyond the tile's columns are not written.
    public var c: UnsafeMutablePointer<Float>
    /// Number of tokens in the tile. The results of columns beyond them are undefined.
    public var tokens: Int
    /// Whether to add to `c` or to replace it.
    public var accumulate: Bool
    /// Of the tile's first token.
    public var destination: Destination

    @inlinable
    public init(
        layout: PackedLayout, tile: UnsafeRawPointer, tileStride: Int, columns: Int, pairs: Bool,
        panels: UnsafeRawPointer, panelBytes: Int, panelCount: Int, parts: Int, c: UnsafeMutablePointer<Float>,
        tokens: Int, accumulate: Bool, destination: Destination = Destination()
    ) {
        self.destination = destination
        (self.layout, self.tile, self.tileStride) = (layout, tile, tileStride)
        (self.columns, self.pairs) = (columns, pairs)
        (self.panels, self.panelBytes, self.panelCount) = (panels, panelBytes, panelCount)
        (self.parts, self.c, self.tokens, self.accumulate) = (parts, c, tokens, accumulate)
    }
}

/// A product of a slice of tiles of quantized activations (`WideTile`), all of the same shape, and panels (`WidePanel`).
public struct WideProduct {
    public var layout: PackedLayout
    /// The slice of the first tile. Those of the others follow.
    public var tiles: UnsafeRawPointer
    public var tileCount: Int
    /// Columns of a tile: 2, 4 or 6.
    public var columns: Int
    /// Whether the columns are pairs.
    public var pairs: Bool
    /// `panelCount` panels of 16 weight rows each.
    public var panels: UnsafeRawPointer
    public var panelCount: Int
    /// Number of columns of the matrix, divided by 32.
    public var parts: Int
    /// `[tileCount][panelCount][6][16]`, a row per token of a tile. Rows beyond the tile's columns are not written.
    public var c: UnsafeMutablePointer<Float>
    /// Whether to add to `c` or to replace it.
    public var accumulate: Bool
    /// Of the first tile's first token.
    public var destination: Destination

    @inlinable
    public init(
        layout: PackedLayout, tiles: UnsafeRawPointer, tileCount: Int, columns: Int, pairs: Bool,
        panels: UnsafeRawPointer, panelCount: Int, parts: Int, c: UnsafeMutablePointer<Float>, accumulate: Bool,
        destination: Destination = Destination()
    ) {
        self.destination = destination
        (self.layout, self.tiles, self.tileCount) = (layout, tiles, tileCount)
        (self.columns, self.pairs) = (columns, pairs)
        (self.panels, self.panelCount, self.parts) = (panels, panelCount, parts)
        (self.c, self.accumulate) = (c, accumulate)
    }
}

/// A product of a tile of a few tokens with 14 or 15 bits, two columns each, and groups of 16 rows of packed weights.
public struct PackedProduct {
    public var layout: PackedLayout
    public var tile: UnsafeRawPointer
    public var tokens: Int
    /// `[tokens]`: what results are multiplied by; `nil` if the tile has its scales.
    @OptionalPointer public var scales: UnsafePointer<Float>?
    /// `groups` groups of `blocks` packed blocks each, which cover all columns of the matrix.
    public var weights: UnsafeRawPointer
    public var groups: Int
    public var blocks: Int
    /// The first token's result for the first row. The next row is one float further, the next token `cStride`.
    public var c: UnsafeMutablePointer<Float>
    public var cStride: Int
    /// With the layout `leadingQ8_0`: the trailing part of the first group, or `bounds` for upper bounds of the results.
    @OptionalPointer public var trailing: UnsafePointer<UInt8>?
    /// `[blocks][columns of the tile]`, at the second column of each token. A block's share of the upper bound is its scale
    /// times the difference of the leading part's product and this.
    @OptionalPointer public var bounds: UnsafePointer<Float>?

    @inlinable
    public init(
        layout: PackedLayout, tile: UnsafeRawPointer, tokens: Int, scales: UnsafePointer<Float>?,
        weights: UnsafeRawPointer, groups: Int, blocks: Int, c: UnsafeMutablePointer<Float>, cStride: Int,
        trailing: UnsafeRawPointer? = nil, bounds: UnsafePointer<Float>? = nil
    ) {
        (self.trailing, self.bounds) = (trailing?.assumingMemoryBound(to: UInt8.self), bounds)
        (self.layout, self.tile, self.tokens, self.scales) = (layout, tile, tokens, scales)
        (self.weights, self.groups, self.blocks) = (weights, groups, blocks)
        (self.c, self.cStride) = (c, cStride)
    }
}

/// One page of keys and values, of widths D and Dv, for some query rows; see `attendPage` of the portable tier.
public struct PageAttention {
    /// `[rows]` pointers to D floats, already scaled by 1/√D.
    public var queries: UnsafePointer<UnsafePointer<Float>>
    /// `[rows]` pointers to Dv floats, the unnormalized outputs so far.
    public var outputs: UnsafePointer<UnsafeMutablePointer<Float>>
    /// `[rows]` the tokens of the page that each row attends to: `first[i] ..< end[i]`.
    public var first: UnsafePointer<Int32>
    public var end: UnsafePointer<Int32>
    public var rows: Int
    /// `32 · (D + Dv)` floats, converted by `widenHalves` or `widenQuantized`.
    public var page: UnsafePointer<Float>
    public var keyWidth: Int
    public var valueWidth: Int
    /// `[rows]` running maxima and sums; initially `-infinity` and 0.
    public var maxima: UnsafeMutablePointer<Float>
    public var sums: UnsafeMutablePointer<Float>
    /// Scratch of `32 · attendRows` floats.
    public var scratch: UnsafeMutablePointer<Float>
    /// Applied to the scores before the softmax.
    public var changes: ScoreChanges

    @inlinable
    public init(
        queries: UnsafePointer<UnsafePointer<Float>>, outputs: UnsafePointer<UnsafeMutablePointer<Float>>,
        first: UnsafePointer<Int32>, end: UnsafePointer<Int32>, rows: Int, page: UnsafePointer<Float>, keyWidth: Int,
        valueWidth: Int, maxima: UnsafeMutablePointer<Float>, sums: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>, changes: ScoreChanges = ScoreChanges()
    ) {
        (self.queries, self.outputs, self.first, self.end, self.rows) = (queries, outputs, first, end, rows)
        (self.page, self.keyWidth, self.valueWidth) = (page, keyWidth, valueWidth)
        (self.maxima, self.sums, self.scratch, self.changes) = (maxima, sums, scratch, changes)
    }
}
