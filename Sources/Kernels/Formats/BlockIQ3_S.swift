/// 256 values; each 4 are an entry of a grid, each 8 have signs, each 32 a 4-bit scale.
///
///     | d: f16 | qs: 64 bytes | qh: 8 bytes | signs: 32 bytes | scales: 4 bytes |
///
///     value = d · (1 + 2 · scale) · ±grid
///
/// qs[j / 4] with one more bit, bit j / 4 mod 8 of qh[j / 32], indexes `IQGrid.iq3_s`. Bit j mod 8 of signs[j / 8]
/// makes value j negative. Nibble j / 32 of scales is the scale.
public struct BlockIQ3_S {
    public static let values = 256
    public static let bytes = 110

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 66).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var signs: UnsafePointer<UInt8> { (base + 74).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 106).assumingMemoryBound(to: UInt8.self) }
}
