// Formats of 4-bit floats.

/// 32 values in the 4-bit float E2M1 with one 8-bit exponent (OCP Microscaling Formats 1.0).
///
///     | e: E8M0 | qs: 16 bytes |               value = 2^(e - 127) · E2M1(q)
///
/// q of value j is the low nibble of qs[j], of value 16 + j the high one.
public struct BlockMXFP4: Block {
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

/// 64 values in the 4-bit float E2M1; each 16 have a scale in the unsigned 8-bit float E4M3.
///
///     | d: 4 × UE4M3 | qs: 32 bytes |          value = d[j / 16] · E2M1(q)
///
/// Each 16 values have 8 bytes of qs: q of value j is the low nibble of byte j, of value 8 + j the high one. A separate
/// tensor holds the scale of the whole tensor.
public struct BlockNVFP4: Block {
    public static let values = 64
    public static let bytes = 36

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }

    /// Half the scale of values `16 * index ..< 16 * index + 16`, for use with `doubledE2M1`.
    ///
    /// The top bit is unused. 0x7f, NaN in E4M3, counts as zero, as in ggml.
    @inlinable @inline(__always)
    public func halfScale(_ index: Int) -> Float {
        let bits = d[index]
        if bits == 0x7f { return 0 }
        let (exponent, mantissa) = (UInt32(bits >> 3) & 15, UInt32(bits) & 7)
        // Subnormals are in units of 2⁻⁹. Otherwise the bias changes from 7 to 127, less one for the half.
        if exponent == 0 { return Float(mantissa) * 0x1p-10 }
        return Float(bitPattern: ((exponent + 119) << 23) | (mantissa << 20))
    }
}
