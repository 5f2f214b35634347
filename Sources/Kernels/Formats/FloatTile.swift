/// Activations as floats, in the layout of the kernels for `PackedFloats`.
///
/// A tile of T tokens is `[columns][T]`, so that a kernel that goes through the columns reads it from start to end.
public enum FloatTile {
    /// Maximum tokens per tile: with two groups of weights, 24 sums of the 32 registers of AVX-512.
    public static let tokens = 12
    /// Columns of a slice, which is multiplied with all tiles before the next one.
    public static let sliceColumns = 512
}

/// F32, F16 or BF16 weights in groups of 16 rows, `[columns][16]` numbers of the file's format.
///
/// A register then holds a column of 16 rows, an activation is broadcast to all of them, and no sum crosses lanes.
public enum PackedFloats {
    /// Rows in a group.
    public static let rows = 16
    /// The formats that have this layout.
    public static let types: Set<TensorType> = [.F32, .F16, .BF16]
}

/// A product of a tile of activations and groups of `PackedFloats`: C[tokens, 16 · groups] (+)= A · Wᵀ.
public struct PackedFloatProduct {
    /// A `FloatTile` of `tokens` tokens.
    public var tile: UnsafePointer<Float>
    public var tokens: Int
    public var type: TensorType
    /// The first column of the first group, and the bytes from one group to the next.
    public var weights: UnsafeRawPointer
    public var groupBytes: Int
    public var groups: Int
    public var columns: Int
    /// The first token's result for the first row. The next row is one float further, the next token `cStride`.
    public var c: UnsafeMutablePointer<Float>
    public var cStride: Int
    /// Whether to add to `c` or to replace it.
    public var accumulate: Bool

    @inlinable
    public init(
        tile: UnsafePointer<Float>, tokens: Int, type: TensorType, weights: UnsafeRawPointer, groupBytes: Int,
        groups: Int, columns: Int, c: UnsafeMutablePointer<Float>, cStride: Int, accumulate: Bool
    ) {
        (self.tile, self.tokens, self.type) = (tile, tokens, type)
        (self.weights, self.groupBytes, self.groups) = (weights, groupBytes, groups)
        (self.columns, self.c, self.cStride, self.accumulate) = (columns, c, cStride, accumulate)
    }
}
