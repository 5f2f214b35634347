// Formats whose codes index tables of values or of grid points.

/// 256 values; each 8 are an entry of a grid of -1, 0 and 1, each 32 have a 3-bit scale and a shift.
///
///     | d: f16 | qs: 32 bytes | qh: 8 × u16 |
///
///     value = d · (2 · scale + 1) · (grid ± 1/8)
///
/// qs[j / 8] with three more bits, bits 3k…3k + 2 of qh[j / 32] for k = j / 8 mod 4, indexes `IQGrid.iq1`. Bits 12-14
/// of qh[j / 32] are the scale; bit 15 makes the shift negative.
public struct BlockIQ1_S: Block {
    public static let values = 256
    public static let bytes = 50

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }

    /// Index bits, scale and shift of values `32 * index ..< 32 * index + 32`.
    @inlinable @inline(__always)
    public func qh(_ index: Int) -> UInt16 {
        UInt16(littleEndian: (base + 34 + 2 * index).loadUnaligned(as: UInt16.self))
    }
}

/// 256 values; each 8 are an entry of a grid of -1, 0 and 1 with a shift, each 16 have a 3-bit scale.
///
///     | qs: 32 bytes | qh: 16 bytes | scales: 4 × u16 |
///
///     value = d · (2 · scale + 1) · (grid ± 1/8)
///
/// qs[j / 8] with three more bits, the low ones of nibble j / 8 of qh, indexes `IQGrid.iq1`; the nibble's fourth bit
/// makes the shift negative. The top four bits of the four words of scales are `d`, an f16, from its lowest nibble up;
/// the other twelve are four scales each.
public struct BlockIQ1_M: Block {
    public static let values = 256
    public static let bytes = 56

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 32).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always) public var d: Float { floatFromHalf(halfBits) }

    /// `d` as half-precision bits.
    @inlinable @inline(__always)
    public var halfBits: UInt16 {
        let low = (scaleWord(0) >> 12) | ((scaleWord(1) >> 8) & 0x00f0)
        return low | ((scaleWord(2) >> 4) & 0x0f00) | (scaleWord(3) & 0xf000)
    }

    /// The scale of values `16 * index ..< 16 * index + 16`, in 0...7.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> UInt16 {
        (scaleWord(index >> 2) >> UInt16(truncatingIfNeeded: 3 * (index & 3))) & 7
    }

    @inlinable @inline(__always)
    func scaleWord(_ index: Int) -> UInt16 {
        UInt16(littleEndian: (base + 48 + 2 * index).loadUnaligned(as: UInt16.self))
    }
}

/// 256 values; each 8 are an entry of a grid with signs, each 32 have a 4-bit scale.
///
///     | d: f16 | 8 × (indices: 4 × u8, u32) |
///
///     value = d · (0.5 + scale) / 4 · ±grid
///
/// Each 32 values have four indices into `IQGrid.iq2_xxs`, and a word with four 7-bit sign patterns (see
/// `IQGrid.signs`) from the lowest bit up and the scale in its top four bits.
public struct BlockIQ2_XXS: Block {
    public static let values = 256
    public static let bytes = 66

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    /// The four indices of values `32 * index ..< 32 * index + 32`.
    @inlinable @inline(__always)
    public func indices(_ index: Int) -> UnsafePointer<UInt8> {
        (base + 2 + 8 * index).assumingMemoryBound(to: UInt8.self)
    }

    /// The word with the signs and the scale of values `32 * index ..< 32 * index + 32`.
    @inlinable @inline(__always)
    public func signsAndScale(_ index: Int) -> UInt32 {
        UInt32(littleEndian: (base + 6 + 8 * index).loadUnaligned(as: UInt32.self))
    }
}

/// 256 values; each 8 are an entry of a grid with signs, each 16 have a 4-bit scale.
///
///     | d: f16 | qs: 32 × u16 | scales: 8 bytes |
///
///     value = d · (0.5 + scale) / 4 · ±grid
///
/// The low nine bits of qs[j / 8] index `IQGrid.iq2_xs`, the high seven are a sign pattern (see `IQGrid.signs`). Nibble
/// j / 16 of scales is the scale.
public struct BlockIQ2_XS: Block {
    public static let values = 256
    public static let bytes = 74

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 66).assumingMemoryBound(to: UInt8.self) }

    /// Index and signs of values `8 * index ..< 8 * index + 8`.
    @inlinable @inline(__always)
    public func qs(_ index: Int) -> UInt16 {
        UInt16(littleEndian: (base + 2 + 2 * index).loadUnaligned(as: UInt16.self))
    }
}

/// 256 values; each 8 are an entry of a grid with signs, each 16 have a 4-bit scale.
///
///     | d: f16 | qs: 32 bytes | signs: 32 bytes | qh: 8 bytes | scales: 8 bytes |
///
///     value = d · (0.5 + scale) / 4 · ±grid
///
/// qs[j / 8] with two more bits, bits 2k and 2k + 1 of qh[j / 32] for k = j / 8 mod 4, indexes `IQGrid.iq2_s`. Bit j
/// mod 8 of signs[j / 8] makes value j negative. Nibble j / 16 of scales is the scale.
public struct BlockIQ2_S: Block {
    public static let values = 256
    public static let bytes = 82

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var signs: UnsafePointer<UInt8> { (base + 34).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 66).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 74).assumingMemoryBound(to: UInt8.self) }
}

/// 256 values; each 4 are an entry of a grid, each 8 have a sign pattern, each 32 a 4-bit scale.
///
///     | d: f16 | qs: 64 bytes | 8 × u32 |
///
///     value = d · (0.5 + scale) / 2 · ±grid
///
/// qs[j / 4] indexes `IQGrid.iq3_xxs`. The word of each 32 values holds four 7-bit sign patterns (see `IQGrid.signs`)
/// from the lowest bit up and the scale in its top four bits.
public struct BlockIQ3_XXS: Block {
    public static let values = 256
    public static let bytes = 98

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }

    /// The word with the signs and the scale of values `32 * index ..< 32 * index + 32`.
    @inlinable @inline(__always)
    public func signsAndScale(_ index: Int) -> UInt32 {
        UInt32(littleEndian: (base + 66 + 4 * index).loadUnaligned(as: UInt32.self))
    }
}

/// 256 values; each 4 are an entry of a grid, each 8 have signs, each 32 a 4-bit scale.
///
///     | d: f16 | qs: 64 bytes | qh: 8 bytes | signs: 32 bytes | scales: 4 bytes |
///
///     value = d · (1 + 2 · scale) · ±grid
///
/// qs[j / 4] with one more bit, bit j / 4 mod 8 of qh[j / 32], indexes `IQGrid.iq3_s`. Bit j mod 8 of signs[j / 8]
/// makes value j negative. Nibble j / 32 of scales is the scale.
public struct BlockIQ3_S: Block {
    public static let values = 256
    public static let bytes = 110

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qh: UnsafePointer<UInt8> { (base + 66).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var signs: UnsafePointer<UInt8> { (base + 74).assumingMemoryBound(to: UInt8.self) }

    @inlinable @inline(__always)
    public var scales: UnsafePointer<UInt8> { (base + 106).assumingMemoryBound(to: UInt8.self) }
}

/// 32 values of 4 bits that index a table of non-uniform levels, with one scale.
///
///     | d: f16 | qs: 16 bytes |                value = d · iq4Levels[q]
///
/// q of value j is the low nibble of qs[j], of value 16 + j the high one.
public struct BlockIQ4_NL: Block {
    public static let values = 32
    public static let bytes = 18

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 2).assumingMemoryBound(to: UInt8.self) }
}

/// 256 values of 4 bits that index the table of IQ4_NL; each 32 have a 6-bit scale.
///
///     | d: f16 | scalesHigh: u16 | scalesLow: 4 bytes | qs: 128 bytes |
///
///     value = d · scale[j / 32] · iq4Levels[q]
///
/// Each 32 values have 16 bytes of qs: q of value j is the low nibble of byte j, of value 16 + j the high one.
public struct BlockIQ4_XS: Block {
    public static let values = 256
    public static let bytes = 136

    public let base: UnsafeRawPointer

    @inlinable @inline(__always) public init(_ base: UnsafeRawPointer) { self.base = base }

    @inlinable @inline(__always) public var d: Float { loadHalf(base) }

    @inlinable @inline(__always)
    public var scalesHigh: UInt16 { UInt16(littleEndian: (base + 2).loadUnaligned(as: UInt16.self)) }

    @inlinable @inline(__always)
    public var scalesLow: UnsafePointer<UInt8> { (base + 4).assumingMemoryBound(to: UInt8.self) }
    @inlinable @inline(__always) public var qs: UnsafePointer<UInt8> { (base + 8).assumingMemoryBound(to: UInt8.self) }

    /// The scale of values `32 * index ..< 32 * index + 32`, in -32...31: nibble `index` of `scalesLow` and bits
    /// `2 * index` and `2 * index + 1` of `scalesHigh`.
    @inlinable @inline(__always)
    public func scale(_ index: Int) -> Int32 {
        let low = (scalesLow[index >> 1] >> UInt8(truncatingIfNeeded: 4 * (index & 1))) & 15
        let high = (scalesHigh >> UInt16(truncatingIfNeeded: 2 * index)) & 3
        return Int32(low) + Int32(high << 4) - 32
    }
}
