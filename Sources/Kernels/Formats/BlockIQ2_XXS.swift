/// 256 values; each 8 are an entry of a grid with signs, each 32 have a 4-bit scale.
///
///     | d: f16 | 8 × (indices: 4 × u8, u32) |
///
///     value = d · (0.5 + scale) / 4 · ±grid
///
/// Each 32 values have four indices into `IQGrid.iq2_xxs`, and a word with four 7-bit sign patterns (see
/// `IQGrid.signs`) from the lowest bit up and the scale in its top four bits.
public struct BlockIQ2_XXS {
    public static let values = 256
    public static let bytes = 66

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    /// The four indices of values `32 * index ..< 32 * index + 32`.
    @inlinable @inline(__always)
    public func indices(_ index: Int) -> UnsafePointer<UInt8> {
        (base + 2 + 8 * index).assumingMemoryBound(to: UInt8.self)
    }

    /// The word with the signs and the scale of values `32 * index ..< 32 * index + 32`.
    @inlinable @inline(__always)
    public func signsAndScale(_ index: Int) -> UInt32 {
        UInt32(littleEndian: (base + 6 + 8 * index).loadUnaligned(as: UInt32.self))
    }
}
