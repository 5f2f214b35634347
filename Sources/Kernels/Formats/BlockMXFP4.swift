/// 32 values in the 4-bit float E2M1 with one 8-bit exponent (OCP Microscaling Formats 1.0).
///
///     | e: E8M0 | qs: 16 bytes |               value = 2^(e - 127) · E2M1(q)
///
/// q of value j is the low nibble of qs[j], of value 16 + j the high one.
public struct BlockMXFP4 {
    public static let values = 32
    public static let bytes = 17

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    /// Half the scale, for use with `doubledE2M1`.
    @inlinable @inline(__always)
    public var halfScale: Float {
        // 2^(e - 128); for e < 2 that is subnormal.
        let e = UInt32(base.load(as: UInt8.self))
        return Float(bitPattern: e < 2 ? 0x0020_0000 << e : (e - 1) << 23)
    }

    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 1).assumingMemoryBound(to: UInt8.self) }
}
