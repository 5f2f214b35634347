// Formats with one scale per 32 values.

/// 32 values of 4 bits with one scale.
///
///     | d: f16 | qs: 16 bytes |                value = d · (q - 8)
///
/// q of value j is the low nibble of qs[j], of value 16 + j the high one.
public struct BlockQ4_0: Block {
    public static let values = 32
    public static let bytes = 18

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
}

/// 32 values of 4 bits with a scale and a minimum.
///
///     | d: f16 | m: f16 | qs: 16 bytes |       value = d · q + m
///
/// q of value j is the low nibble of qs[j], of value 16 + j the high one.
public struct BlockQ4_1: Block {
    public static let values = 32
    public static let bytes = 20

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var m: Float { loadHalf(base + 2) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }
}

/// 32 values of 5 bits with one scale.
///
///     | d: f16 | qh: u32 | qs: 16 bytes |      value = d · (q - 16)
///
/// The low four bits of q of value j are the low nibble of qs[j], of value 16 + j the high one. The fifth bit of value
/// j is bit j of qh.
public struct BlockQ5_0: Block {
    public static let values = 32
    public static let bytes = 22

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    @inlinable @inline(__always)
    public var qh: UInt32 { UInt32(littleEndian: (base + 2).loadUnaligned(as: UInt32.self)) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 6).assumingMemoryBound(to: UInt8.self) }
}

/// 32 values of 5 bits with a scale and a minimum.
///
///     | d: f16 | m: f16 | qh: u32 | qs: 16 bytes |      value = d · q + m
///
/// The low four bits of q of value j are the low nibble of qs[j], of value 16 + j the high one. The fifth bit of value
/// j is bit j of qh.
public struct BlockQ5_1: Block {
    public static let values = 32
    public static let bytes = 24

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var m: Float { loadHalf(base + 2) }

    @inlinable @inline(__always)
    public var qh: UInt32 { UInt32(littleEndian: (base + 4).loadUnaligned(as: UInt32.self)) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 8).assumingMemoryBound(to: UInt8.self) }
}

/// 32 values of 8 bits with one scale.
///
///     | d: f16 | qs: 32 × i8 |                 value[j] = d · qs[j]
public struct BlockQ8_0: Block {
    public static let values = 32
    public static let bytes = 34

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<Int8> { (base + 2).assumingMemoryBound(to: Int8.self) }
}

/// Q8_0 with `s`, the sum of its values, for dot products with formats that have a minimum.
///
///     | d: f16 | s: f16 | qs: 32 × i8 |        value[j] = d · qs[j]
///
/// ggml quantizes activations to it; no file is known to hold it.
public struct BlockQ8_1: Block {
    public static let values = 32
    public static let bytes = 36

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var s: Float { loadHalf(base + 2) }
    @inlinable @inline(__always) public var qs: UnsafePointer<Int8> { (base + 4).assumingMemoryBound(to: Int8.self) }
}
