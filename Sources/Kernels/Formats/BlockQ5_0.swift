/// 32 values of 5 bits with one scale.
///
///     | d: f16 | qh: u32 | qs: 16 bytes |      value = d · (q - 16)
///
/// The low four bits of q of value j are the low nibble of qs[j], of value 16 + j the high one. The fifth bit of value
/// j is bit j of qh.
public struct BlockQ5_0 {
    public static let values = 32
    public static let bytes = 22

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    @inlinable @inline(__always)
    public var qh: UInt32 { UInt32(littleEndian: (base + 2).loadUnaligned(as: UInt32.self)) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 6).assumingMemoryBound(to: UInt8.self) }
}
