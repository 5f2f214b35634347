/// 256 values of 2 bits; each 16 have a 4-bit scale and a 4-bit minimum.
///
///     | scales: 16 bytes | qs: 64 bytes | d: f16 | dmin: f16 |
///
///     value = d · (scales[j / 16] & 15) · q - dmin · (scales[j / 16] >> 4)
///
/// Each 32 bytes of qs hold 128 values: bits 2k and 2k + 1 of byte i are value 32k + i.
public struct BlockQ2_K {
    public static let values = 256
    public static let bytes = 84

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var scales: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 16).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 80) }
    @inlinable @inline(__always) public var dmin: Float { loadHalf(base + 82) }
}
