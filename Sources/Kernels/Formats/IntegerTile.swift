/// Activations as the integer kernels read them: whole numbers, a scale for each 32 columns.
///
/// A tile is `columns` vectors of activations side by side. A token that is rounded to 8 bits is one of them, in
/// -127...127; one that is rounded to 14 is two, `x = scale · (126 · first + second)`, both in -63...63. For each 32 columns
/// of the matrix a tile has
///
///     codes  [8 steps][columns][4] i8
///     scale  [columns] f32             of both of a pair, in the first of them
///     sums   [3][columns] f32          of what the codes stand for: of all 32, of the first 16, of the others
public struct IntegerTile {
    /// The most vectors in a tile: with 16 weight rows, 12 sums, two weights and a broadcast fit 16 registers.
    public static let columns = 6
    /// Floats that the results of a tile by a panel take: `[6][16]`, a row for each token.
    public static let resultFloats = columns * PackedLayout.rows

    /// The largest code of a token in one column, and of each of two.
    public static let largestCode: Float = 127
    public static let largestOfPair: Float = 63
    public static let pairFactor: Float = 126

    /// Bytes for each 32 columns of the matrix.
    @inlinable @inline(__always)
    public static func blockBytes(columns: Int) -> Int { 48 &* columns }
}

/// Unpacked weights of a group of 16 rows. For each 32 columns of the matrix a panel has
///
///     codes    [8 steps][16 rows][4] u8
///     scales   [segments][16] f32
///     offsets  [segments][16] f32
///
/// and the weight is `scale · code - offset`. A segment is the columns that share a scale: 32, or 16.
public struct IntegerPanel {
    @inlinable @inline(__always)
    public static func blockBytes(segments: Int) -> Int { 512 &+ 128 &* segments }
}
