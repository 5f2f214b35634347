/// 256 values; each 8 are an entry of a grid of -1, 0 and 1 with a shift, each 16 have a 3-bit scale.
///
///     | qs: 32 bytes | qh: 16 bytes | scales: 4 × u16 |
///
///     value = d · (2 · scale + 1) · (grid ± 1/8)
///
/// qs[j / 8] with three more bits, the low ones of nibble j / 8 of qh, indexes `IQGrid.iq1`; the nibble's fourth bit
/// makes the shift negative. The top four bits of the four words of scales are `d`, an f16, from its lowest nibble up;
/// the other twelve are four scales each.
public struct BlockIQ1_M {
    public static let values = 256
    public static let bytes = 56

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 32).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var d: Float {
        let low = (scaleWord(0) >> 12) | ((scaleWord(1) >> 8) & 0x00f0)
        return floatFromHalf(low | ((scaleWord(2) >> 4) & 0x0f00) | (scaleWord(3) & 0xf000))
    }

    /// The scale of values `16 * index ..< 16 * index + 16`, in 0...7.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> UInt16 {
        (scaleWord(index >> 2) >> UInt16(truncatingIfNeeded: 3 * (index & 3))) & 7
    }

    @inlinable @inline(__always)
    func scaleWord(_ index: Int) -> UInt16 {
        UInt16(littleEndian: (base + 48 + 2 * index).loadUnaligned(as: UInt16.self))
    }
}
