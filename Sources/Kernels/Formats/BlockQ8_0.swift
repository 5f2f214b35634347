/// 32 values of 8 bits with one scale.
///
///     | d: f16 | qs: 32 × i8 |                 value[j] = d · qs[j]
public struct BlockQ8_0 {
    public static let values = 32
    public static let bytes = 34

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<Int8> { (base + 2).assumingMemoryBound(to: Int8.self) }
}
