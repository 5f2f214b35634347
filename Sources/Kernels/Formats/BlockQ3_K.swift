/// 256 values of 3 bits; each 16 have a 6-bit scale.
///
///     | hmask: 32 bytes | qs: 64 bytes | scales: 12 bytes | d: f16 |
///
///     value = d · scale[j / 16] · (q - 4)
///
/// The low two bits of q are packed as in Q2_K. Its third bit, for value 32k + i, is bit k of hmask[i].
public struct BlockQ3_K {
    public static let values = 256
    public static let bytes = 110

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var hmask: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 32).assumingMemoryBound(to: UInt8.self) }

    /// Packed; see `scale(_:)`.
    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 96).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 108) }

    /// The scale of values `16 * index ..< 16 * index + 16`, in -32...31.
    ///
    /// Low nibbles of bytes 0-7 are the low four bits of scales 0-7, high nibbles those of 8-15. Bits 2k and 2k + 1 of
    /// byte 8 + i are the high two bits of scale 4k + i.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> Int32 {
        let low = (scales[index & 7] >> (index < 8 ? 0 : 4)) & 15
        let high = (scales[8 + (index & 3)] >> UInt8(truncatingIfNeeded: 2 * (index >> 2))) & 3
        return Int32(low | (high << 4)) - 32
    }
}
