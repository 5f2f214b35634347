// The layout of codes and scales in packed blocks, by format; see `PackedLayout`.

import CIntrinsics
import KernelFormats

/// Floats of rows 0..<8 and 8..<16.
typealias Rows16 = (__m256, __m256)

protocol PackedFormat {
    /// Scales per 32 columns: 1 or 2.
    static var segments: Int { get }
    /// Bytes of the planes of 32 columns, as in `PackedLayout`.
    static var planeBytes: Int { get }
    /// Scales shared by all parts of a block.
    associatedtype Shared
    static func shared(_ block: UnsafeRawPointer) -> Shared
    /// The codes of steps `step` (in 0..<4) and `step + 4` of eight rows, from the planes of 32 columns.
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i)
    /// Whether sums of the products of a segment do not fit 16 bits, with activations in -63...63.
    static var hasLargeCodes: Bool { get }
    /// Whether a part of each code is elsewhere in memory; the same with its planes there.
    static var isSplit: Bool { get }
    static func codes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i)
    /// Whether offsets are multiplied by what the product has as its `bounds`, instead of the sums of activations.
    static var isBound: Bool { get }
    /// Scales and offsets of a segment. A weight is `scale · code - offset`.
    static func scales(
        _ shared: Shared, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16)
}

extension PackedFormat {
    @inline(__always) static var hasLargeCodes: Bool { false }
    @inline(__always) static var isSplit: Bool { false }
    @inline(__always) static var isBound: Bool { false }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        codes(planes, step)
    }
}

/// Prefetches the data some pages ahead of the current weights. The hardware prefetcher stops at page borders, and
/// restarts with each block of rows that a thread takes; this makes decoding more than a third faster.
///
/// - Parameters:
///   - count: Bytes; best a constant, which unrolls the loop.
///   - ahead: Bytes ahead.
///   - aheadInL1: If not `nil`, data is prefetched to the L2 cache, and this many bytes ahead from there to the L1 cache.
@inline(__always)
func prefetchLines(_ weights: UnsafeRawPointer, _ count: Int, ahead: Int = 9216, aheadInL1: Int? = nil) {
    for line in 0..<(count &+ 63) / 64 {
        let weights = weights + 64 &* line
        if let aheadInL1 {
            prefetch_to_l2(weights + ahead)
            prefetch(weights + aheadInL1)
        } else {
            prefetch(weights + ahead)
        }
    }
}

// MARK: Planes

@inline(__always)
private func load32(_ p: UnsafeRawPointer) -> __m256i { p.loadUnaligned(as: __m256i.self) }

@inline(__always)
private func mask(_ v: __m256i, _ bits: Int8) -> __m256i { _mm256_and_si256(v, _mm256_set1_epi8(bits)) }

/// Shifts left by `places` (right if negative) within 16-bit words. Bits that cross bytes must be masked.
@inline(__always)
private func shift(_ v: __m256i, _ places: Int) -> __m256i {
    if places > 0 { return _mm256_slli_epi16(v, Int32(truncatingIfNeeded: places)) }
    if places < 0 { return _mm256_srli_epi16(v, Int32(truncatingIfNeeded: 0 &- places)) }
    return v
}

@inline(__always)
func nibbles(_ plane: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
    let v = load32(plane + 64 &* step)
    return (mask(v, 15), mask(shift(v, -4), 15))
}

/// One bit of each code, shifted to bit `place`.
@inline(__always)
func bits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (__m256i, __m256i) {
    let v = load32(plane)
    let bit = Int8(truncatingIfNeeded: 1 << place)
    return (mask(shift(v, place &- step), bit), mask(shift(v, place &- step &- 4), bit))
}

/// Two bits of each code, shifted to bits `place` and up.
@inline(__always)
func twoBits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (__m256i, __m256i) {
    let both = Int8(truncatingIfNeeded: 3 << place)
    return (
        mask(shift(load32(plane), place &- 2 &* step), both),
        mask(shift(load32(plane + 64), place &- 2 &* step), both)
    )
}

@inline(__always)
func or(_ a: (__m256i, __m256i), _ b: (__m256i, __m256i)) -> (__m256i, __m256i) {
    (_mm256_or_si256(a.0, b.0), _mm256_or_si256(a.1, b.1))
}

// MARK: Scales

/// The half-precision scales of 16 rows: field `index` of the file's block.
@inline(__always)
func halves(_ block: UnsafeRawPointer, _ index: Int) -> Rows16 {
    (loadHalves(block + 32 &* index), loadHalves(block + (32 &* index &+ 16)))
}

/// One byte for each of 16 rows.
@inline(__always)
func bytes(_ registers: UnsafeRawPointer, _ index: Int) -> __m128i { load16Bytes(registers + 16 &* index) }

/// `width` bits of each byte, from bit `place` on.
@inline(__always)
func field(_ v: __m128i, _ place: Int, _ width: Int) -> __m128i {
    let mask = _mm_set1_epi8(Int8(truncatingIfNeeded: (1 << width) &- 1))
    return _mm_and_si128(_mm_srli_epi16(v, Int32(truncatingIfNeeded: place)), mask)
}

/// Combines four low bits from one register with two high ones from another.
@inline(__always)
private func sixBits(_ low: __m128i, _ lowPlace: Int, _ high: __m128i, _ highPlace: Int) -> __m128i {
    _mm_or_si128(field(low, lowPlace, 4), _mm_slli_epi16(field(high, highPlace, 2), 4))
}

@inline(__always)
func times(_ a: Rows16, _ b: Rows16) -> Rows16 { (_mm256_mul_ps(a.0, b.0), _mm256_mul_ps(a.1, b.1)) }

@inline(__always)
func times(_ a: Rows16, _ factor: Float) -> Rows16 {
    times(a, (_mm256_set1_ps(factor), _mm256_set1_ps(factor)))
}

// MARK: Formats

protocol PackedNibbles: PackedFormat {}
extension PackedNibbles {
    static var planeBytes: Int { 256 }
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) { nibbles(planes, step) }
}

protocol PackedFiveBits: PackedFormat {}
extension PackedFiveBits {
    static var planeBytes: Int { 256 + 64 }
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        or(nibbles(planes, step), bits(planes + 256, step, at: 4))
    }
}

/// Nibbles that index a table of 16 unsigned bytes.
protocol PackedLevels: PackedFormat {
    /// The table, eight levels per word, lowest byte first.
    static var levels: (UInt64, UInt64) { get }
}
extension PackedLevels {
    static var planeBytes: Int { 256 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        let low = Int64(bitPattern: levels.0), high = Int64(bitPattern: levels.1)
        let table = _mm256_set_epi64x(high, low, high, low)
        let (a, b) = nibbles(planes, step)
        return (_mm256_shuffle_epi8(table, a), _mm256_shuffle_epi8(table, b))
    }
}

/// The levels of IQ4_NL, plus 128.
protocol PackedIQ4Levels: PackedLevels {}
extension PackedIQ4Levels {
    @inline(__always) static var hasLargeCodes: Bool { true }
    static var segments: Int { 1 }
    static var levels: (UInt64, UInt64) { (0x766a_5d4f_3f2d_1801, 0xf1d9_c5b5_a699_8d81) }
}

/// `doubledE2M1`, plus 12.
protocol PackedE2M1: PackedLevels {}
extension PackedE2M1 {
    static var levels: (UInt64, UInt64) { (0x1814_1210_0f0e_0d0c, 0x0004_0608_090a_0b0c) }
}

/// A scale, and an offset that is a multiple of the scale.
protocol PackedWithScale: PackedFormat where Shared == Rows16 {
    static var offset: Float { get }
}
extension PackedWithScale {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows16 { halves(block, 0) }
    @inline(__always)
    static func scales(
        _ shared: Rows16, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        (shared, times(shared, offset))
    }
}

/// A scale and a minimum, which is added.
protocol PackedWithMinimum: PackedFormat where Shared == (Rows16, Rows16) {}
extension PackedWithMinimum {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (Rows16, Rows16) {
        (halves(block, 0), times(halves(block, 1), -1))
    }
    @inline(__always)
    static func scales(
        _ shared: (Rows16, Rows16), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        (shared.0, shared.1)
    }
}

/// 6-bit scales and minimums, as in Q4_K.
protocol PackedWithSixBits: PackedFormat where Shared == (Rows16, Rows16) {}
extension PackedWithSixBits {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (Rows16, Rows16) { (halves(block, 0), halves(block, 1)) }
    @inline(__always)
    static func scales(
        _ shared: (Rows16, Rows16), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        let low = bytes(block + 64, part)
        let high = bytes(block + 64 + 128, part >> 1)
        let place = 4 &* (part & 1)
        return (
            times(shared.0, rows16(unsigned: sixBits(low, 0, high, place))),
            times(shared.1, rows16(unsigned: sixBits(low, 4, high, place &+ 2)))
        )
    }
}

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
enum PackedQ4_1: PackedNibbles, PackedWithMinimum {}
enum PackedQ5_1: PackedFiveBits, PackedWithMinimum {}
enum PackedQ4_K: PackedNibbles, PackedWithSixBits {}
enum PackedQ5_K: PackedFiveBits, PackedWithSixBits {}

enum PackedIQ4_NL: PackedIQ4Levels, PackedWithScale { static var offset: Float { 128 } }

enum PackedQ8_0: PackedWithScale {
    @inline(__always) static var hasLargeCodes: Bool { true }
    static var planeBytes: Int { 512 }
    static var segments: Int { 1 }
    static var offset: Float { 128 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        let sign = _mm256_set1_epi8(-128)
        return (
            _mm256_xor_si256(load32(planes + 64 &* step), sign),
            _mm256_xor_si256(load32(planes + (64 &* step &+ 256)), sign)
        )
    }
}

/// The leading part of split Q8_0, see `PackedLayout.leadingQ8_0`: codes without their two lowest bits.
@inline(__always)
private func leadingCodes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
    let upper = load32(planes + 64 &* step)
    return or((mask(shift(upper, 4), -16), mask(upper, -16)), twoBits(planes + 256, step, at: 2))
}

/// Split Q8_0 with all bits.
enum SplitQ8_0: PackedWithScale {
    @inline(__always) static var hasLargeCodes: Bool { true }
    static var planeBytes: Int { 256 + 128 }
    static var segments: Int { 1 }
    static var offset: Float { 128 }
    @inline(__always) static var isSplit: Bool { true }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) { leadingCodes(planes, step) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        or(leadingCodes(planes, step), twoBits(trailing, step, at: 0))
    }
}

/// The leading part of split Q8_0, for upper bounds.
enum LeadingQ8_0: PackedWithScale {
    @inline(__always) static var hasLargeCodes: Bool { true }
    static var planeBytes: Int { 256 + 128 }
    static var segments: Int { 1 }
    static var offset: Float { 1 }
    @inline(__always) static var isBound: Bool { true }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) { leadingCodes(planes, step) }
}

enum PackedQ6_K: PackedFormat {
    static var planeBytes: Int { 256 + 128 }
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows16 { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        or(nibbles(planes, step), twoBits(planes + 256, step, at: 4))
    }
    @inline(__always)
    static func scales(
        _ shared: Rows16, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        let scale = times(shared, rows16(signed: bytes(block + 32, 2 &* part &+ segment)))
        return (scale, times(scale, 32))
    }
}

enum PackedQ2_K: PackedFormat {
    static var planeBytes: Int { 128 }
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (Rows16, Rows16) { (halves(block, 0), halves(block, 1)) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) { twoBits(planes, step, at: 0) }
    @inline(__always)
    static func scales(
        _ shared: (Rows16, Rows16), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        let packed = bytes(block + 64, 2 &* part &+ segment)
        return (
            times(shared.0, rows16(unsigned: field(packed, 0, 4))),
            times(shared.1, rows16(unsigned: field(packed, 4, 4)))
        )
    }
}

enum PackedQ3_K: PackedFormat {
    static var planeBytes: Int { 128 + 64 }
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows16 { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        or(twoBits(planes, step, at: 0), bits(planes + 128, step, at: 2))
    }
    @inline(__always)
    static func scales(
        _ shared: Rows16, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        let low = bytes(block + 32, part)
        let high = bytes(block + 32 + 128, part >> 1)
        let code = rows16(unsigned: sixBits(low, 4 &* segment, high, 4 &* (part & 1) &+ 2 &* segment))
        let middle = _mm256_set1_ps(32)
        let scale = times(shared, (_mm256_sub_ps(code.0, middle), _mm256_sub_ps(code.1, middle)))
        return (scale, times(scale, 4))
    }
}

enum PackedIQ4_XS: PackedIQ4Levels {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows16 { halves(block, 0) }
    @inline(__always)
    static func scales(
        _ shared: Rows16, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        let low = bytes(block + 32, part >> 1)
        let high = bytes(block + 32 + 64, part >> 2)
        let code = rows16(unsigned: sixBits(low, 4 &* (part & 1), high, 2 &* (part & 3)))
        let middle = _mm256_set1_ps(32)
        let scale = times(shared, (_mm256_sub_ps(code.0, middle), _mm256_sub_ps(code.1, middle)))
        return (scale, times(scale, 128))
    }
}
