/// 256 values; each 8 are an entry of a grid with signs, each 16 have a 4-bit scale.
///
///     | d: f16 | qs: 32 bytes | signs: 32 bytes | qh: 8 bytes | scales: 8 bytes |
///
///     value = d · (0.5 + scale) / 4 · ±grid
///
/// qs[j / 8] with two more bits, bits 2k and 2k + 1 of qh[j / 32] for k = j / 8 mod 4, indexes `IQGrid.iq2_s`. Bit j
/// mod 8 of signs[j / 8] makes value j negative. Nibble j / 16 of scales is the scale.
public struct BlockIQ2_S {
    public static let values = 256
    public static let bytes = 82

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var signs: UnsafePointer<UInt8> { (base + 34).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 66).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 74).assumingMemoryBound(to: UInt8.self) }
}
