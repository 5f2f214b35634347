// The layout of codes and scales in packed blocks, by format; see `PackedLayout`. A vector holds 16 rows, in
// four registers. Codes are signed, so that those of eight bits need no offset.

import CIntrinsics
import KernelFormats

protocol PackedFormat {
    /// Scales per 32 columns: 1 or 2.
    static var segments: Int { get }
    /// Scales shared by all parts of a block.
    associatedtype Shared
    static func shared(_ block: UnsafeRawPointer) -> Shared
    /// The codes of steps `step` (in 0..<4) and `step + 4`, from the planes of 32 columns; signed bytes.
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes)
    /// Scales and offsets of a segment. A weight is `scale · code - offset`.
    static func scales(
        _ shared: Shared, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows)
}

/// The codes of four columns, and a number for each of 16 rows.
typealias Codes = SIMD64<UInt8>
typealias Rows = SIMD16<Float>
/// One byte for each of 16 rows.
typealias Bytes = SIMD16<UInt8>

/// Prefetches the data one page ahead of the current weights. The hardware prefetcher stops at page borders, and
/// restarts with each block of rows that a thread takes; this gains a third of the decode speed.
@inline(__always)
func prefetchLines(_ weights: UnsafeRawPointer, _ count: Int) {
    var ahead = 4608
    while ahead < 4608 &+ count {
        prefetch(weights + ahead)
        ahead &+= 64
    }
}

// MARK: Planes

@inline(__always)
func load64(_ p: UnsafeRawPointer) -> Codes { p.loadUnaligned(as: Codes.self) }

/// Shifts each byte left by `places` (right if negative).
@inline(__always)
private func shift(_ v: Codes, _ places: Int) -> Codes {
    if places > 0 { return v &<< UInt8(truncatingIfNeeded: places) }
    if places < 0 { return v &>> UInt8(truncatingIfNeeded: 0 &- places) }
    return v
}

@inline(__always)
func nibbles(_ plane: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
    let v = load64(plane + 64 &* step)
    return (v & 15, shift(v, -4))
}

/// One bit of each code, shifted to bit `place`.
@inline(__always)
func bits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (Codes, Codes) {
    let v = load64(plane)
    let bit = UInt8(truncatingIfNeeded: 1 << place)
    return (shift(v, place &- step) & bit, shift(v, place &- step &- 4) & bit)
}

/// Two bits of each code, shifted to bits `place` and up.
@inline(__always)
func twoBits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (Codes, Codes) {
    let both = UInt8(truncatingIfNeeded: 3 << place)
    return (
        shift(load64(plane), place &- 2 &* step) & both,
        shift(load64(plane + 64), place &- 2 &* step) & both
    )
}

@inline(__always)
func or(_ a: (Codes, Codes), _ b: (Codes, Codes)) -> (Codes, Codes) {
    ((a.0 | b.0), (a.1 | b.1))
}

// MARK: Scales

/// The half-precision scales of 16 rows: field `index` of the file's block.
@inline(__always)
func halves(_ block: UnsafeRawPointer, _ index: Int) -> Rows {
    floats_of_halves16((block + 32 &* index).loadUnaligned(as: SIMD16<UInt16>.self))
}

/// One byte for each of 16 rows.
@inline(__always)
func bytes(_ registers: UnsafeRawPointer, _ index: Int) -> Bytes {
    (registers + 16 &* index).loadUnaligned(as: Bytes.self)
}

@inline(__always)
func floats(unsigned bytes: Bytes) -> Rows { floats_of_bytes(bytes) }

@inline(__always)
private func floats(signed bytes: Bytes) -> Rows {
    floats_of_signed_bytes(unsafeBitCast(bytes, to: SIMD16<Int8>.self))
}

/// `width` bits of each byte, from bit `place` on.
@inline(__always)
func field(_ v: Bytes, _ place: Int, _ width: Int) -> Bytes {
    (v &>> UInt8(truncatingIfNeeded: place)) & UInt8(truncatingIfNeeded: (1 << width) &- 1)
}

/// Combines four low bits from one register with two high ones from another.
@inline(__always)
private func sixBits(_ low: Bytes, _ lowPlace: Int, _ high: Bytes, _ highPlace: Int) -> Bytes {
    field(low, lowPlace, 4) | (field(high, highPlace, 2) &<< 4)
}

@inline(__always)
func times(_ a: Rows, _ factor: Float) -> Rows { a * Rows(repeating: factor) }

// MARK: Codes

protocol PackedNibbles: PackedFormat {}
extension PackedNibbles {
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { nibbles(planes, step) }
}

protocol PackedFiveBits: PackedFormat {}
extension PackedFiveBits {
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        or(nibbles(planes, step), bits(planes + 256, step, at: 4))
    }
}

/// Nibbles that index a table of 16 signed bytes.
protocol PackedLevels: PackedFormat {
    /// The table, eight levels per word, lowest byte first.
    static var levels: (UInt64, UInt64) { get }
}
extension PackedLevels {
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        let table = unsafeBitCast(SIMD2(levels.0, levels.1), to: Bytes.self)
        let (a, b) = nibbles(planes, step)
        return (look_up(table, a), look_up(table, b))
    }
}

/// The levels of IQ4_NL, `iq4Levels`.
protocol PackedIQ4Levels: PackedLevels {}
extension PackedIQ4Levels {
    static var segments: Int { 1 }
    static var levels: (UInt64, UInt64) { (0xf6ea_ddcf_bfad_9881, 0x7159_4535_2619_0d01) }
}

/// `doubledE2M1`.
protocol PackedE2M1: PackedLevels {}
extension PackedE2M1 {
    static var levels: (UInt64, UInt64) { (0x0c08_0604_0302_0100, 0xf4f8_fafc_fdfe_ff00) }
}

// MARK: Scales of a kind

/// A scale, and an offset that is a multiple of the scale.
protocol PackedWithScale: PackedFormat where Shared == Rows {
    static var offset: Float { get }
}
extension PackedWithScale {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows { halves(block, 0) }
    @inline(__always)
    static func scales(
        _ shared: Rows, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        (shared, times(shared, offset))
    }
}

/// A scale and a minimum, which is added.
protocol PackedWithMinimum: PackedFormat where Shared == (Rows, Rows) {}
extension PackedWithMinimum {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (Rows, Rows) {
        (halves(block, 0), times(halves(block, 1), -1))
    }
    @inline(__always)
    static func scales(
        _ shared: (Rows, Rows), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        (shared.0, shared.1)
    }
}

/// 6-bit scales and minimums, as in Q4_K.
protocol PackedWithSixBits: PackedFormat where Shared == (Rows, Rows) {}
extension PackedWithSixBits {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (Rows, Rows) { (halves(block, 0), halves(block, 1)) }
    @inline(__always)
    static func scales(
        _ shared: (Rows, Rows), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        let low = bytes(block + 64, part)
        let high = bytes(block + 64 + 128, part >> 1)
        let place = 4 &* (part & 1)
        return (
            shared.0 * (floats(unsigned: sixBits(low, 0, high, place))),
            shared.1 * (floats(unsigned: sixBits(low, 4, high, place &+ 2)))
        )
    }
}

// MARK: Formats

/// A kernel for weights in any packed format.
protocol PackedKernel {
    func run<Format: PackedFormat>(_: Format.Type)
}

extension PackedLayout.Format {
    /// Runs the kernel that was compiled for this format.
    @inline(__always)
    func run(_ kernel: some PackedKernel) {
        switch self {
        case .Q4_0: kernel.run(PackedQ4_0.self)
        case .Q4_1: kernel.run(PackedQ4_1.self)
        case .Q5_0: kernel.run(PackedQ5_0.self)
        case .Q5_1: kernel.run(PackedQ5_1.self)
        case .Q8_0: kernel.run(PackedQ8_0.self)
        case .Q2_K: kernel.run(PackedQ2_K.self)
        case .Q3_K: kernel.run(PackedQ3_K.self)
        case .Q4_K: kernel.run(PackedQ4_K.self)
        case .Q5_K: kernel.run(PackedQ5_K.self)
        case .Q6_K: kernel.run(PackedQ6_K.self)
        case .IQ4_NL: kernel.run(PackedIQ4_NL.self)
        case .IQ4_XS: kernel.run(PackedIQ4_XS.self)
        case .MXFP4: kernel.run(PackedMXFP4.self)
        case .NVFP4: kernel.run(PackedNVFP4.self)
        case .ternary: kernel.run(PackedTernary.self)
        case .IQ1_S: kernel.run(PackedIQ1_S.self)
        case .IQ1_M: kernel.run(PackedIQ1_M.self)
        case .IQ2: kernel.run(PackedIQ2.self)
        case .IQ3_XXS: kernel.run(PackedIQ3_XXS.self)
        case .IQ3_S: kernel.run(PackedIQ3_S.self)
        }
    }
}

enum PackedQ4_0: PackedNibbles, PackedWithScale { static var offset: Float { 8 } }
enum PackedQ5_0: PackedFiveBits, PackedWithScale { static var offset: Float { 16 } }
enum PackedIQ4_NL: PackedIQ4Levels, PackedWithScale { static var offset: Float { 0 } }
enum PackedQ4_1: PackedNibbles, PackedWithMinimum {}
enum PackedQ5_1: PackedFiveBits, PackedWithMinimum {}
enum PackedQ4_K: PackedNibbles, PackedWithSixBits {}
enum PackedQ5_K: PackedFiveBits, PackedWithSixBits {}

enum PackedQ8_0: PackedWithScale {
    static var segments: Int { 1 }
    static var offset: Float { 0 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        (load64(planes + 64 &* step), load64(planes + (64 &* step &+ 256)))
    }
}

enum PackedQ6_K: PackedFormat {
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        or(nibbles(planes, step), twoBits(planes + 256, step, at: 4))
    }
    @inline(__always)
    static func scales(
        _ shared: Rows, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        let scale = shared * (floats(signed: bytes(block + 32, 2 &* part &+ segment)))
        return (scale, times(scale, 32))
    }
}

enum PackedQ2_K: PackedFormat {
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (Rows, Rows) { (halves(block, 0), halves(block, 1)) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { twoBits(planes, step, at: 0) }
    @inline(__always)
    static func scales(
        _ shared: (Rows, Rows), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        let packed = bytes(block + 64, 2 &* part &+ segment)
        return (
            shared.0 * (floats(unsigned: field(packed, 0, 4))),
            shared.1 * (floats(unsigned: field(packed, 4, 4)))
        )
    }
}

enum PackedQ3_K: PackedFormat {
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        or(twoBits(planes, step, at: 0), bits(planes + 128, step, at: 2))
    }
    @inline(__always)
    static func scales(
        _ shared: Rows, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        let low = bytes(block + 32, part)
        let high = bytes(block + 32 + 128, part >> 1)
        let code = floats(unsigned: sixBits(low, 4 &* segment, high, 4 &* (part & 1) &+ 2 &* segment))
        let scale = shared * ((code - Rows(repeating: 32)))
        return (scale, times(scale, 4))
    }
}

enum PackedIQ4_XS: PackedIQ4Levels {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows { halves(block, 0) }
    @inline(__always)
    static func scales(
        _ shared: Rows, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        let low = bytes(block + 32, part >> 1)
        let high = bytes(block + 32 + 64, part >> 2)
        let code = floats(unsigned: sixBits(low, 4 &* (part & 1), high, 2 &* (part & 3)))
        let scale = shared * ((code - Rows(repeating: 32)))
        return (scale, Rows())
    }
}
