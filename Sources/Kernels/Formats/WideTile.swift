/// Quantized activations in the layout of the AVX-512 kernels: integers, a scale per token, a factor per 32 columns.
///
/// These kernels are limited by the units that multiply. A factor is therefore `2^a ± 2^b`: a weight's scale is
/// multiplied by it in two integer additions to its exponent and one addition of floats, which other units execute.
///
/// As in an `IntegerTile`, a tile holds `columns` vectors, an even number. A token with 8 bits is one vector, in
/// -127...127. A token with 15 bits is a pair of vectors: `x = scale · factor · (128 · first + second)`, with `first` in
/// -127...127 and `second` in -64...63.
///
/// A slice has 256 columns of the matrix, in 8 parts of 32. A product goes from tile to tile within a slice, so the
/// slices of all tiles are contiguous. A slice of a tile has
///
///     codes     [8 parts][8 steps][columns][4] i8
///     lifts     [8 parts][columns] i32        a, at the position of a float's exponent
///     rests     [8 parts][columns] i32        b likewise, with the sign of 2^b
///     factors   [8 parts][columns] f32        2^a ± 2^b
///     sums      [2][8 parts][columns] i32     of the codes of the first 16 columns of a part, and of the others
///     partSums  [4][columns][2] i16           what whole parts sum up to, divided by `sumSteps` and rounded
///     sumSteps  [columns] f32                 powers of two
///
/// The numbers of a pair are those of its whole codes; `sums` are at its second column and 0 at its first, the others are
/// at both. `partSums` and `sumSteps` are undefined in a slice with fewer than 256 columns.
public enum WideTile {
    public static let sliceColumns = 256
    public static let sliceParts = 8
    /// Maximum vectors per tile that is multiplied by panels, and by packed weights.
    public static let columns = 6
    public static let streamedColumns = 8

    /// A pair of codes is `first << pairShift + second`.
    public static let pairShift = 7
    /// The largest code of a token with one column, and with a pair. A value may be 0.35 % beyond the former: it is rounded
    /// to it.
    public static let largestCode: Float = 127.45
    public static let largestOfPair: Float = 16_300

    // Bytes before the fields of a slice, per column.
    public static let lifts = 256
    public static let rests = lifts + 32
    public static let factors = rests + 32
    public static let sums = factors + 32
    public static let partSums = sums + 64
    public static let sumSteps = partSums + 16
    /// Bytes of a slice, per column: some are unused, so that slices begin at cache lines.
    public static let sliceBytes = 448
}

/// Unpacked weights of a group of 16 rows for the AVX-512 kernels. For each 32 columns of the matrix a panel has
///
///     codes    [8 steps][16 rows][4] u8
///     scales   [segments][16] f32       not 0
///     offsets  [segments][16] f32       in formats with offsets of segments
///
/// and after each 256, in formats with offsets of parts
///
///     minimums [4][16][2] i16           of eight parts
///     scale    [16] f32
///
/// The weight is `scale · (code - center) - offset`, with the format's center. The offset of a part is `scale · minimum`.
/// A segment is the 32 or 16 columns that share a scale.
public enum WidePanel {
    public static let minimumBytes = 5 * 64
    /// Maximum bytes of 256 columns.
    public static let sliceBytes = 8 * (512 + 4 * 64)
}
