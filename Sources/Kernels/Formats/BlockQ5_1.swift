/// 32 values of 5 bits with a scale and a minimum.
///
///     | d: f16 | m: f16 | qh: u32 | qs: 16 bytes |      value = d · q + m
///
/// The low four bits of q of value j are the low nibble of qs[j], of value 16 + j the high one. The fifth bit of value
/// j is bit j of qh.
public struct BlockQ5_1 {
    public static let values = 32
    public static let bytes = 24

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var m: Float { loadHalf(base + 2) }

    @inlinable @inline(__always)
    public var qh: UInt32 { UInt32(littleEndian: (base + 4).loadUnaligned(as: UInt32.self)) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 8).assumingMemoryBound(to: UInt8.self) }
}
