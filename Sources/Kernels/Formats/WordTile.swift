/// Activations as 16-bit integers, for products with weights in F16 and BF16 that become 16-bit integers as well.
///
/// `vpdpwssd` does twice as many multiplications as the multiply-add of floats, `vpmaddwd` 1.5 times as many. 32 columns
/// of a token, or of a row of weights, share a scale. It is chosen so that no integer is beyond `largestCode` and the sum
/// of the squares of all 32 is at most `length²`. By the Cauchy-Schwarz inequality a sum of their products is then below
/// 2^31, in any order.
///
/// A tile holds `tokens` tokens. A slice has 256 columns of the matrix, in 8 parts of 32; the columns that the last part
/// lacks are 0, and further parts undefined. A product goes from tile to tile within a slice, so the slices of all tiles
/// are contiguous. A slice of a tile has
///
///     codes  [8 parts][16 pairs of columns][tokens][2] i16
///     exponents  [8 parts][tokens] i32       a, at the position of a float's exponent
///
/// A value is `scale · 2^a · code`, with a power of two for each token as `scale`.
public enum WordTile {
    public static let tokens = 6
    public static let sliceColumns = 256
    public static let sliceParts = 8

    public static let exponents = 512 * tokens
    public static let sliceBytes = exponents + 32 * tokens

    public static let largestCode: Float = 32_767
    /// Below 46,341, whose square is 2^31, by more than rounding adds: half a step to each of 32 integers.
    public static let length: Float = 46_337
}

/// 16 rows of weights as 16-bit integers. For each 32 columns of the matrix a panel has
///
///     codes   [16 pairs of columns][16 rows][2] i16
///     scales  [16] f32      at least `smallestScale`
///
/// The columns that the last part lacks are 0.
public enum WordPanel {
    public static let partBytes = 1024 + 64
    public static let sliceBytes = WordTile.sliceParts * partBytes
    /// The squares of weights that are too small to be squared are codes of 0.
    public static let smallestScale: Float = 0x1p-60
}

/// A product of a slice of `WordTile`s, or the first parts of it, by panels.
public struct WordProduct {
    /// The slice of the first tile. Those of the others follow.
    public var tiles: UnsafeRawPointer
    public var tileCount: Int
    /// `panelCount` panels of 16 weight rows each, `WordPanel.sliceBytes` apart.
    public var panels: UnsafeRawPointer
    public var panelCount: Int
    /// Number of columns of the matrix, divided by 32 and rounded up.
    public var parts: Int
    /// Pairs of columns in a part. Not a constant, for which the compiler would unroll a kernel's loop and, with AVX2, add in
    /// another order, with more sums than there are registers.
    public let pairs = 16
    /// `[tileCount][panelCount][tokens][16]`.
    public var c: UnsafeMutablePointer<Float>
    /// Whether to add to `c` or to replace it.
    public var accumulate: Bool
    /// Of the first tile's first token.
    public var destination: Destination

    @inlinable
    public init(
        tiles: UnsafeRawPointer, tileCount: Int, panels: UnsafeRawPointer, panelCount: Int, parts: Int,
        c: UnsafeMutablePointer<Float>, accumulate: Bool, destination: Destination = Destination()
    ) {
        self.destination = destination
        (self.tiles, self.tileCount, self.panels, self.panelCount) = (tiles, tileCount, panels, panelCount)
        (self.parts, self.c, self.accumulate) = (parts, c, accumulate)
    }
}
