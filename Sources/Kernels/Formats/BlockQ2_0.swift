/// 64 values of -1, 0 or 1 (or 2), two bits each, with one scale.
///
///     | d: f16 | qs: 16 bytes |                value = d · (q - 1)
///
/// Bits 2k and 2k + 1 of qs[i] are value 4i + k. (A fork of llama.cpp writes blocks of 128 values under the same
/// number.)
public struct BlockQ2_0 {
    public static let values = 64
    public static let bytes = 18

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
}
