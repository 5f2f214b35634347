/// 256 values; each 4 are an entry of a grid, each 8 have a sign pattern, each 32 a 4-bit scale.
///
///     | d: f16 | qs: 64 bytes | 8 × u32 |
///
///     value = d · (0.5 + scale) / 2 · ±grid
///
/// qs[j / 4] indexes `IQGrid.iq3_xxs`. The word of each 32 values holds four 7-bit sign patterns (see `IQGrid.signs`)
/// from the lowest bit up and the scale in its top four bits.
public struct BlockIQ3_XXS {
    public static let values = 256
    public static let bytes = 98

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }

    /// The word with the signs and the scale of values `32 * index ..< 32 * index + 32`.
    @inlinable @inline(__always)
    public func signsAndScale(_ index: Int) -> UInt32 {
        UInt32(littleEndian: (base + 66 + 4 * index).loadUnaligned(as: UInt32.self))
    }
}
