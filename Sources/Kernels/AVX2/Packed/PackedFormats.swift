// The layout of codes and scales in packed blocks, by format; see `PackedLayout`.

import KernelFormats

// MARK: Codes of a kind

protocol PackedNibbles: PackedFormat {}
extension PackedNibbles {
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { nibbles(planes, step) }
}

protocol PackedFiveBits: PackedFormat {}
extension PackedFiveBits {
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        or(nibbles(planes, step), bits(planes + 256, step, at: 4))
    }
}

/// Signed bytes. In tiers that multiply unsigned codes, the center is added to them.
protocol PackedSigned: PackedFormat {}
extension PackedSigned {
    @inline(__always) static var center: Int32 { codesAreSigned ? 0 : format.center }

    /// The codes of 16 values, lowest byte first.
    @inline(__always)
    static func table(_ low: UInt64, _ high: UInt64) -> SIMD16<UInt8> {
        unsafeBitCast(SIMD2(low, high), to: SIMD16<UInt8>.self) &+ UInt8(truncatingIfNeeded: center)
    }
}

/// Nibbles that index a table of 16 values.
protocol PackedLevels: PackedSigned {
    /// The table, eight values per word, lowest byte first.
    static var levels: (UInt64, UInt64) { get }
}
extension PackedLevels {
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        let table = table(levels.0, levels.1), (a, b) = nibbles(planes, step)
        return (lookUp(table, a), lookUp(table, b))
    }
}

/// `iq4Levels`.
protocol PackedIQ4Levels: PackedLevels {}
extension PackedIQ4Levels {
    static var levels: (UInt64, UInt64) { (0xf6ea_ddcf_bfad_9881, 0x7159_4535_2619_0d01) }
}

// MARK: Scales of a kind

/// A scale of the whole block.
protocol PackedWithScale: PackedFormat where Shared == RowFloats {}
extension PackedWithScale {
    @inline(__always)
    static func scales(
        _ shared: RowFloats, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        centered(shared)
    }
}

/// A scale and a minimum, which is added.
protocol PackedWithMinimum: PackedFormat where Shared == (RowFloats, RowFloats) {}
extension PackedWithMinimum {
    @inline(__always) static var offsets: Offsets { .ofSegments }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (RowFloats, RowFloats) {
        (halves(block, 0), times(halves(block, 1), -1))
    }
    @inline(__always)
    static func scales(
        _ shared: (RowFloats, RowFloats), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        (shared.0, shared.1)
    }
}

/// 6-bit scales and minimums, as in Q4_K.
protocol PackedWithSixBits: PackedFormat where Shared == (RowFloats, RowFloats) {}
extension PackedWithSixBits {
    @inline(__always) static var offsets: Offsets { .ofParts }
    @inline(__always)
    static func scales(
        _ shared: (RowFloats, RowFloats), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        let code = sixBits(bytes(block + 64, part), 0, bytes(block + 64 + 128, part >> 1), 4 &* (part & 1))
        return (times(shared.0, floats(unsigned: code)), times(shared.1, floats(unsigned: minimums(block, part))))
    }
    @inline(__always)
    static func minimums(_ block: UnsafeRawPointer, _ part: Int) -> Bytes {
        sixBits(bytes(block + 64, part), 4, bytes(block + 64 + 128, part >> 1), 4 &* (part & 1) &+ 2)
    }
    @inline(__always)
    static func minimumScale(_ shared: (RowFloats, RowFloats)) -> RowFloats { shared.1 }
}

// MARK: Formats

enum PackedQ4_0: PackedNibbles, PackedWithScale { static var format: PackedLayout.Format { .Q4_0 } }
enum PackedQ5_0: PackedFiveBits, PackedWithScale { static var format: PackedLayout.Format { .Q5_0 } }
enum PackedIQ4_NL: PackedIQ4Levels, PackedWithScale { static var format: PackedLayout.Format { .IQ4_NL } }
enum PackedQ4_1: PackedNibbles, PackedWithMinimum { static var format: PackedLayout.Format { .Q4_1 } }
enum PackedQ5_1: PackedFiveBits, PackedWithMinimum { static var format: PackedLayout.Format { .Q5_1 } }
enum PackedQ4_K: PackedNibbles, PackedWithSixBits { static var format: PackedLayout.Format { .Q4_K } }
enum PackedQ5_K: PackedFiveBits, PackedWithSixBits { static var format: PackedLayout.Format { .Q5_K } }

enum PackedQ8_0: PackedSigned, PackedWithScale {
    static var format: PackedLayout.Format { .Q8_0 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        (codesOfSigned(loadCodes(planes + 64 &* step)), codesOfSigned(loadCodes(planes + (64 &* step &+ 256))))
    }
}

enum PackedQ6_K: PackedFormat {
    static var format: PackedLayout.Format { .Q6_K }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        or(nibbles(planes, step), twoBits(planes + 256, step, at: 4))
    }
    @inline(__always)
    static func scales(
        _ shared: RowFloats, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        centered(times(shared, floats(signed: bytes(block + 32, 2 &* part &+ segment))))
    }
}

enum PackedQ2_K: PackedFormat {
    static var format: PackedLayout.Format { .Q2_K }
    @inline(__always) static var offsets: Offsets { .ofSegments }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { twoBits(planes, step, at: 0) }
    @inline(__always)
    static func scales(
        _ shared: (RowFloats, RowFloats), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        let packed = bytes(block + 64, 2 &* part &+ segment)
        return (
            times(shared.0, floats(unsigned: field(packed, 0, 4))),
            times(shared.1, floats(unsigned: field(packed, 4, 4)))
        )
    }
}

enum PackedQ3_K: PackedFormat {
    static var format: PackedLayout.Format { .Q3_K }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        or(twoBits(planes, step, at: 0), bits(planes + 128, step, at: 2))
    }
    @inline(__always)
    static func scales(
        _ shared: RowFloats, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        let low = bytes(block + 32, part), high = bytes(block + 32 + 128, part >> 1)
        let code = sixBits(low, 4 &* segment, high, 4 &* (part & 1) &+ 2 &* segment)
        return centered(times(shared, minus(floats(unsigned: code), 32)))
    }
}

enum PackedIQ4_XS: PackedIQ4Levels {
    static var format: PackedLayout.Format { .IQ4_XS }
    @inline(__always)
    static func scales(
        _ shared: RowFloats, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        let low = bytes(block + 32, part >> 1), high = bytes(block + 32 + 64, part >> 2)
        let code = sixBits(low, 4 &* (part & 1), high, 2 &* (part & 3))
        return centered(times(shared, minus(floats(unsigned: code), 32)))
    }
}

// MARK: Split Q8_0

/// Codes of split Q8_0, see `PackedLayout.leadingQ8_0`.
///
/// - Parameter trailing: `nil`: the two lowest bits are 0.
@inline(__always)
private func splitCodes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer?, _ step: Int) -> (Codes, Codes) {
    let upper = loadCodes(planes + 64 &* step)
    /// The lower nibbles of four steps are computed two and two: of even ones or of odd ones, so that two bits are shifted once.
    @inline(__always)
    func lower(_ register: Int) -> Codes {
        let middle = loadCodes(planes + (256 &+ 64 &* register))
        let pairs = step % 2 == 0 ? shift(mask(middle, 0x33), 2) : mask(middle, 0xcc)
        var both = pairs
        if let trailing {
            let last = loadCodes(trailing + 64 &* register)
            both = or(pairs, mask(step % 2 == 0 ? last : shift(last, -2), 0x33))
        }
        return step < 2 ? both : shift(both, -4)
    }
    return or((mask(shift(upper, 4), 0xf0), mask(upper, 0xf0)), (mask(lower(0), 0x0f), mask(lower(1), 0x0f)))
}

/// Split Q8_0 with all bits.
enum SplitQ8_0: PackedWithScale {
    static var format: PackedLayout.Format { .Q8_0 }
    static var planeBytes: Int { 256 + 128 }
    @inline(__always) static var isSplit: Bool { true }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { splitCodes(planes, nil, step) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        splitCodes(planes, trailing, step)
    }
}

/// The leading part of split Q8_0, for upper bounds.
enum LeadingQ8_0: PackedFormat {
    static var format: PackedLayout.Format { .Q8_0 }
    static var planeBytes: Int { 256 + 128 }
    @inline(__always) static var offsets: Offsets { .ofBounds }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { splitCodes(planes, nil, step) }
    @inline(__always)
    static func scales(
        _ shared: RowFloats, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        (shared, shared)
    }
}
