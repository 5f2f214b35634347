/// Q8_0 with `s`, the sum of its values, for dot products with formats that have a minimum.
///
///     | d: f16 | s: f16 | qs: 32 × i8 |        value[j] = d · qs[j]
///
/// ggml quantizes activations to it; no file is known to hold it.
public struct BlockQ8_1 {
    public static let values = 32
    public static let bytes = 36

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var s: Float { loadHalf(base + 2) }
    @inlinable @inline(__always) public var qs: UnsafePointer<Int8> { (base + 4).assumingMemoryBound(to: Int8.self) }
}
