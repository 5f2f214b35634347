/// Quantized activations in the layout of the kernels with VNNI: integers, a scale per token, a factor per 32 columns.
///
/// These kernels are limited by the units that multiply. A factor is therefore `(1 + e/8) · 2^a`, e in 0...7: a panel has
/// the eight multiples of each of its scales, and 2^a costs a subtraction, which other units execute. The integer sum starts
/// at the bits of `base`, a float whose last place is 2^a. Read as a float, the result is base + 2^a · sum; the kernel
/// subtracts the base.
///
/// As in an `IntegerTile`, a tile holds `columns` vectors, an even number. A token with 8 bits is one vector, in
/// -127...127. A token with 15 bits is a pair of vectors: `x = scale · factor · (128 · first + second)`, with `first` in
/// -127...127 and `second` in -64...63, and e is 0.
///
/// A slice has 256 columns of the matrix, in 8 parts of 32. A product goes from tile to tile within a slice, so the
/// slices of all tiles are contiguous. A slice of a tile has
///
///     codes     [8 parts][8 steps][columns][4] i8
///     bases     [8 parts][columns] f32        1.5 · 2^(23 + a), in the first column of a pair 1.5 · 2^(30 + a)
///     multiples   [8 parts][columns] i32        64 · e, the place of a multiple in a panel
///     factors   [8 parts][columns] f32        (1 + e/8) · 2^a
///     sums      [2][8 parts][columns] i32     of the codes of the first 16 columns of a part, and of the others
///     partSums  [4][columns][2] i16           what whole parts sum up to, divided by 2^s and rounded
///     sumExponents  [columns] i32                 s, at the position of a float's exponent
///
/// For a pair, `sums` are split like codes: the sum is `128 · first + second`. Its other fields, except for `bases`, are equal
/// at both columns. `partSums` and `sumExponents` are undefined in a slice with fewer than 256 columns.
public enum WideTile {
    public static let sliceColumns = 256
    public static let sliceParts = 8
    /// Maximum vectors per tile that is multiplied by panels.
    public static let columns = 6
    /// Maximum tokens per tile that is multiplied by packed weights, and the vectors of a tile of so many.
    public static let streamedTokens = 8
    @inlinable
    public static func streamedColumns(_ tokens: Int) -> Int { 2 * (tokens <= 4 ? tokens : (tokens + 1) & ~1) }

    /// A pair of codes is `first << pairShift + second`.
    public static let pairShift = 7
    /// The largest code of a token with one column, and with a pair. A value may be 0.35 % beyond the former: it is rounded
    /// to it.
    public static let largestCode: Float = 127.45
    public static let largestOfPair: Float = 16_300

    // Bytes before the fields of a slice, per column.
    public static let bases = 256
    public static let multiples = bases + 32
    public static let factors = multiples + 32
    public static let sums = factors + 32
    public static let partSums = sums + 64
    public static let sumExponents = partSums + 16
    /// Bytes of a slice, per column: some are unused, so that slices begin at cache lines.
    public static let sliceBytes = 448
}

/// Unpacked weights of a group of 16 rows for the kernels with VNNI. For each 32 columns of the matrix a panel has
///
///     codes    [8 steps][16 rows][4] u8
///     scales   [segments][8][16] f32    not 0; 1, 1.125, ... 1.875 times the scale of the weights
///     offsets  [segments][16] f32       in formats with offsets of segments
///
/// and after each 256, in formats with offsets of parts
///
///     minimums [4][16][2] i16           of eight parts
///     scale    [16] f32                 not 0
///
/// The weight is `scale · (code - center) - offset`, with the format's center. The offset of a part is `scale · minimum`.
/// A segment is the 32 or 16 columns that share a scale.
public enum WidePanel {
    /// Multiples of a scale.
    public static let multiples = 8
    public static let minimumBytes = 5 * 64
    /// Maximum bytes of 256 columns.
    public static let sliceBytes = 8 * (512 + 2 * (multiples + 1) * 64)
}
