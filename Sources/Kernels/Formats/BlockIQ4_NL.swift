/// 32 values of 4 bits that index a table of uneven steps, with one scale.
///
///     | d: f16 | qs: 16 bytes |                value = d · iq4Levels[q]
///
/// q of value j is the low nibble of qs[j], of value 16 + j the high one.
public struct BlockIQ4_NL {
    public static let values = 32
    public static let bytes = 18

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
}
