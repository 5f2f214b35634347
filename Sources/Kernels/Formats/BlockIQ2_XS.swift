/// 256 values; each 8 are an entry of a grid with signs, each 16 have a 4-bit scale.
///
///     | d: f16 | qs: 32 × u16 | scales: 8 bytes |
///
///     value = d · (0.5 + scale) / 4 · ±grid
///
/// The low nine bits of qs[j / 8] index `IQGrid.iq2_xs`, the high seven are a sign pattern (see `IQGrid.signs`). Nibble
/// j / 16 of scales is the scale.
public struct BlockIQ2_XS {
    public static let values = 256
    public static let bytes = 74

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 66).assumingMemoryBound(to: UInt8.self) }

    /// Index and signs of values `8 * index ..< 8 * index + 8`.
    @inlinable @inline(__always)
    public func qs(_ index: Int) -> UInt16 {
        UInt16(littleEndian: (base + 2 + 2 * index).loadUnaligned(as: UInt16.self))
    }
}
