/// 256 values; each 8 are an entry of a grid of -1, 0 and 1, each 32 have a 3-bit scale and a shift.
///
///     | d: f16 | qs: 32 bytes | qh: 8 × u16 |
///
///     value = d · (2 · scale + 1) · (grid ± 1/8)
///
/// qs[j / 8] with three more bits, bits 3k…3k + 2 of qh[j / 32] for k = j / 8 mod 4, indexes `IQGrid.iq1`. Bits 12-14
/// of qh[j / 32] are the scale; bit 15 makes the shift negative.
public struct BlockIQ1_S {
    public static let values = 256
    public static let bytes = 50

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }

    /// Index bits, scale and shift of values `32 * index ..< 32 * index + 32`.
    @inlinable @inline(__always)
    public func qh(_ index: Int) -> UInt16 {
        UInt16(littleEndian: (base + 34 + 2 * index).loadUnaligned(as: UInt16.self))
    }
}
