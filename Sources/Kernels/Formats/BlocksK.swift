// K-quants: 256 values per block, with integer scales of groups relative to the block's scale.

/// 256 values of 2 bits; each 16 have a 4-bit scale and a 4-bit minimum.
///
///     | scales: 16 bytes | qs: 64 bytes | d: f16 | dmin: f16 |
///
///     value = d · (scales[j / 16] & 15) · q - dmin · (scales[j / 16] >> 4)
///
/// Each 32 bytes of qs hold 128 values: bits 2k and 2k + 1 of byte i are value 32k + i.
public struct BlockQ2_K: Block {
    public static let values = 256
    public static let bytes = 84

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var scales: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 16).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 80) }
    @inlinable @inline(__always) public var dmin: Float { loadHalf(base + 82) }
}

/// 256 values of 3 bits; each 16 have a 6-bit scale.
///
///     | hmask: 32 bytes | qs: 64 bytes | scales: 12 bytes | d: f16 |
///
///     value = d · scale[j / 16] · (q - 4)
///
/// The low two bits of q are packed as in Q2_K. Its third bit, for value 32k + i, is bit k of hmask[i].
public struct BlockQ3_K: Block {
    public static let values = 256
    public static let bytes = 110

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var hmask: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 32).assumingMemoryBound(to: UInt8.self) }

    /// Packed; see `scale(_:)`.
    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 96).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 108) }

    /// The scale of values `16 * index ..< 16 * index + 16`, in -32...31.
    ///
    /// Low nibbles of bytes 0-7 are the low four bits of scales 0-7, high nibbles those of 8-15. Bits 2k and 2k + 1 of
    /// byte 8 + i are the high two bits of scale 4k + i.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> Int32 {
        let low = (scales[index & 7] >> (index < 8 ? 0 : 4)) & 15
        let high = (scales[8 + (index & 3)] >> UInt8(truncatingIfNeeded: 2 * (index >> 2))) & 3
        return Int32(low | (high << 4)) - 32
    }
}

/// 256 values of 4 bits; each 32 have a 6-bit scale and a 6-bit minimum.
///
///     | d: f16 | dmin: f16 | scales: 12 bytes | qs: 128 bytes |
///
///     value = d · scale[j / 32] · q - dmin · minimum[j / 32]
///
/// Each 32 bytes of qs hold 64 values: the low nibble of byte i is value i, the high one value 32 + i.
public struct BlockQ4_K: Block {
    public static let values = 256
    public static let bytes = 144

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var dmin: Float { loadHalf(base + 2) }

    /// Packed; see `scale(_:)` and `minimum(_:)`.
    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 16).assumingMemoryBound(to: UInt8.self) }

    /// The scale of values `32 * index ..< 32 * index + 32`, in 0...63.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> UInt8 { packedScale(scales, index) }

    /// The minimum of values `32 * index ..< 32 * index + 32`, in 0...63.
    @inlinable @inline(__always)
    public func minimum(_ index: Int) -> UInt8 { packedMinimum(scales, index) }
}

/// 256 values of 5 bits; each 32 have a 6-bit scale and a 6-bit minimum, packed as in Q4_K.
///
///     | d: f16 | dmin: f16 | scales: 12 bytes | qh: 32 bytes | qs: 128 bytes |
///
///     value = d · scale[j / 32] · q - dmin · minimum[j / 32]
///
/// The low four bits of q are packed as in Q4_K. Its fifth bit, for value 32k + i, is bit k of qh[i].
public struct BlockQ5_K: Block {
    public static let values = 256
    public static let bytes = 176

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var dmin: Float { loadHalf(base + 2) }

    /// Packed; see `scale(_:)` and `minimum(_:)`.
    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 16).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 48).assumingMemoryBound(to: UInt8.self) }

    /// The scale of values `32 * index ..< 32 * index + 32`, in 0...63.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> UInt8 { packedScale(scales, index) }

    /// The minimum of values `32 * index ..< 32 * index + 32`, in 0...63.
    @inlinable @inline(__always)
    public func minimum(_ index: Int) -> UInt8 { packedMinimum(scales, index) }
}

/// 256 values of 6 bits; each 16 have an 8-bit scale.
///
///     | ql: 128 bytes | qh: 64 bytes | scales: 16 × i8 | d: f16 |
///
///     value = d · scales[j / 16] · (q - 32)
///
/// Each half of 128 values has 64 bytes of ql and 32 of qh. The low nibbles of ql[0..<64] are the low four bits of
/// values 0..<64, the high ones those of 64..<128. Bits 2k and 2k + 1 of qh[i] are the high two bits of value 32k + i.
public struct BlockQ6_K: Block {
    public static let values = 256
    public static let bytes = 210

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var ql: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var qh: UnsafePointer<UInt8> { (base + 128).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var scales: UnsafePointer<Int8> { (base + 192).assumingMemoryBound(to: Int8.self) }
    @inlinable @inline(__always) public var d: Float { loadHalf(base + 208) }
}

/// 256 values of 8 bits with one scale, and the sums of each 16 of them.
///
///     | d: f32 | qs: 256 × i8 | sums: 16 × i16 |        value[j] = d · qs[j]
///
/// ggml quantizes activations to it; no file is known to hold it.
public struct BlockQ8_K: Block {
    public static let values = 256
    public static let bytes = 292

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always)
    public var d: Float { Float(bitPattern: UInt32(littleEndian: base.loadUnaligned(as: UInt32.self))) }
    @inlinable @inline(__always) public var qs: UnsafePointer<Int8> { (base + 4).assumingMemoryBound(to: Int8.self) }
}
