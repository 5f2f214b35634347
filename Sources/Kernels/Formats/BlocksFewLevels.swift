// Formats with one or two bits, or three levels, per value.

/// 128 values of 1 bit, which selects `d` or `-d`.
///
///     | d: f16 | qs: 16 bytes |                value[j] = bit j of qs ? d : -d
public struct BlockQ1_0: Block {
    public static let values = 128
    public static let bytes = 18

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    /// Bit j mod 8 of byte j / 8 is value j.
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
}

/// 64 values of -1, 0 or 1 (or 2), two bits each, with one scale.
///
///     | d: f16 | qs: 16 bytes |                value = d · (q - 1)
///
/// Bits 2k and 2k + 1 of qs[i] are value 4i + k. (A fork of llama.cpp writes blocks of 128 values under the same
/// number.)
public struct BlockQ2_0: Block {
    public static let values = 64
    public static let bytes = 18

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
}

/// 256 values of -1, 0 or 1, five per byte, with one scale.
///
///     | qs: 48 bytes | qh: 4 bytes | d: f16 |          value = d · (digit - 1)
///
/// A byte is the fraction 0.t₀t₁t₂t₃t₄ in base 3, in units of 1/256 and rounded up: multiply by 3ⁿ modulo 256; three
/// times the result has digit n as its integer part. Digit n of qs[i] is value 32n + i for i < 32, and value 160 + 16n
/// + (i - 32) above. qh has four digits per byte: digit n of qh[i] is value 240 + 4n + i.
public struct BlockTQ1_0: Block {
    public static let values = 256
    public static let bytes = 54

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 48).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 52) }
}

/// 256 values of -1, 0 or 1 (or 2), two bits each, with one scale.
///
///     | qs: 64 bytes | d: f16 |                        value = d · (q - 1)
///
/// Packed as in Q2_K: each 32 bytes of qs hold 128 values, bits 2k and 2k + 1 of byte i being value 32k + i.
public struct BlockTQ2_0: Block {
    public static let values = 256
    public static let bytes = 66

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 64) }
}
