/// 256 values of 4 bits that index the table of IQ4_NL; each 32 have a 6-bit scale.
///
///     | d: f16 | scalesHigh: u16 | scalesLow: 4 bytes | qs: 128 bytes |
///
///     value = d · scale[j / 32] · iq4Levels[q]
///
/// Each 32 values have 16 bytes of qs: q of value j is the low nibble of byte j, of value 16 + j the high one.
public struct BlockIQ4_XS {
    public static let values = 256
    public static let bytes = 136

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    @inlinable @inline(__always)
    public var scalesHigh: UInt16 { UInt16(littleEndian: (base + 2).loadUnaligned(as: UInt16.self)) }

    @inlinable @inline(__always)
    public var scalesLow: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 8).assumingMemoryBound(to: UInt8.self) }

    /// The scale of values `32 * index ..< 32 * index + 32`, in -32...31: nibble `index` of `scalesLow` and bits
    /// `2 * index` and `2 * index + 1` of `scalesHigh`.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> Int32 {
        let low = (scalesLow[index >> 1] >> UInt8(truncatingIfNeeded: 4 * (index & 1))) & 15
        let high = (scalesHigh >> UInt16(truncatingIfNeeded: 2 * index)) & 3
        return Int32(low) + Int32(high << 4) - 32
    }
}
