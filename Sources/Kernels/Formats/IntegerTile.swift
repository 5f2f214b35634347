/// Quantized activations in the layout of the integer kernels: integers, with a scale per 32 columns.
///
/// A tile holds `columns` vectors. A token with 8 bits is one vector, in -127...127; a token with 14 bits is a pair of
/// vectors, `x = scale · (126 · first + second)`, both in -63...63. For each 32 columns of the matrix a tile has
///
///     codes  [8 steps][columns][4] i8
///     scale  [columns] f32             for a pair at its first column
///     sums   [3][columns] f32          of the quantized values: of all 32, of the first 16, of the last 16
///
/// On AVX2 a token with 14 bits is one vector of 16-bit words in place of a pair, in -7938...7938, in as many bytes:
///
///     codes  [8 steps][2][columns / 2 tokens][2] i16: columns 0 and 2 of the step's four, then 1 and 3
///
/// Behind its blocks of 32 columns, a tile of one such token has the codes a second time, as bytes:
///
///     bytes  [columns of the matrix / 32][2][8 steps][4] i8: `first` of all steps, then `second`
///
/// and a token with 8 bits has a scale for all its columns, and integers in place of floats, `x = scale · factor · code`:
///
///     codes    [8 steps][columns][4] i8
///     factors  [columns][2] i16        in 0...16384, twice the same
///     sums     [3][columns][2] i16     of the codes, as above; of columns 0 and 1 of each step's four, then of 2 and 3
public struct IntegerTile {
    /// Maximum vectors per tile: with 16 weight rows, 12 sums, two weights and a broadcast fit 16 registers.
    public static let columns = 6
    /// Floats of the results of a tile by a panel: `[6][16]`, a row per token.
    public static let resultFloats = columns * PackedLayout.rows

    /// Largest code of a token with one column, and below with a pair.
    public static let largestCode: Float = 127
    public static let largestOfPair: Float = 63
    public static let pairFactor: Float = 126
    /// Largest factor of a token with 8 bits, on AVX2.
    public static let largestFactor: Float = 16_384

    /// Bytes per 32 columns of the matrix.
    @inlinable @inline(__always)
    public static func blockBytes(columns: Int) -> Int { 48 &* columns }
    /// Bytes per 32 columns of the matrix that a tile of one token with 14 bits has behind its blocks, on AVX2.
    @inlinable @inline(__always)
    public static var bytesOfOneToken: Int { 64 }
}

/// Unpacked weights of a group of 16 rows. For each 32 columns of the matrix a panel has
///
///     codes    [8 steps][16 rows][4] u8; i8 on ARM, where KernelsNEONMatrix has another order
///     scales   [segments][16] f32
///     offsets  [segments][16] f32
///
/// The weight is `scale · code - offset`. A segment is the 32 or 16 columns that share a scale. On AVX2 the weight is
/// `scale · (code - center) - offset`, with the format's center, and only some formats have offsets beside it.
public struct IntegerPanel {
    @inlinable @inline(__always)
    public static func blockBytes(segments: Int) -> Int { 512 &+ 128 &* segments }
}
