/// 256 values of 8 bits with one scale, and the sums of each 16 of them.
///
///     | d: f32 | qs: 256 × i8 | sums: 16 × i16 |        value[j] = d · qs[j]
///
/// ggml quantizes activations to it; no file is known to hold it.
public struct BlockQ8_K {
    public static let values = 256
    public static let bytes = 292

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always)
    public var d: Float { Float(bitPattern: UInt32(littleEndian: base.loadUnaligned(as: UInt32.self))) }
    @inlinable @inline(__always) public var qs: UnsafePointer<Int8> { (base + 4).assumingMemoryBound(to: Int8.self) }
}
