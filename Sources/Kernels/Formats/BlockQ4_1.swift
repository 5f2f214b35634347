/// 32 values of 4 bits with a scale and a minimum.
///
///     | d: f16 | m: f16 | qs: 16 bytes |       value = d · q + m
///
/// q of value j is the low nibble of qs[j], of value 16 + j the high one.
public struct BlockQ4_1 {
    public static let values = 32
    public static let bytes = 20

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var m: Float { loadHalf(base + 2) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }
}
