/// 128 values of 1 bit: a bit chooses between `d` and `-d`.
///
///     | d: f16 | qs: 16 bytes |                value[j] = bit j of qs ? d : -d
public struct BlockQ1_0 {
    public static let values = 128
    public static let bytes = 18

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    /// Bit j mod 8 of byte j / 8 belongs to value j.
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
}
