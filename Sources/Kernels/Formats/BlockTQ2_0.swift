/// 256 values of -1, 0 or 1 (or 2), two bits each, with one scale.
///
///     | qs: 64 bytes | d: f16 |                        value = d · (q - 1)
///
/// Packed as in Q2_K: each 32 bytes of qs hold 128 values, bits 2k and 2k + 1 of byte i being value 32k + i.
public struct BlockTQ2_0 {
    public static let values = 256
    public static let bytes = 66

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 64) }
}
