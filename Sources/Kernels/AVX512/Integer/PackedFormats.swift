// The layout of codes and scales in packed blocks, by format; see `PackedLayout`. A register holds 16 rows.

import CIntrinsics
import KernelFormats

protocol PackedFormat {
    /// Scales per 32 columns: 1 or 2.
    static var segments: Int { get }
    /// Scales shared by all parts of a block.
    associatedtype Shared
    static func shared(_ block: UnsafeRawPointer) -> Shared
    /// The codes of steps `step` (in 0..<4) and `step + 4`, from the planes of 32 columns; unsigned bytes.
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i)
    /// Whether the lowest bits of the codes are elsewhere, in `trailing`, and the codes with them.
    static var isSplit: Bool { get }
    static func codes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i)
    /// Scales of a segment, which are 0 or at least 2^-79, and its offsets with `.ofSegments`.
    static func scales(
        _ shared: Shared, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512)
    static var offsets: Offsets { get }
    /// With `.ofParts`: the minimums of a part, and their scale.
    static func minimums(_ block: UnsafeRawPointer, _ part: Int) -> __m128i
    static func minimumScale(_ shared: Shared) -> __m512
    /// `bytesAhead` for a single token, which is multiplied faster than several and needs its weights earlier.
    static var bytesAheadOfOneToken: Int { get }
}

/// What a weight has besides `scale · (code - center)`; it is subtracted.
enum Offsets {
    case none
    /// A float per segment.
    case ofSegments
    /// An integer per 32 columns, `minimums`, with a scale per block of 256.
    case ofParts
    /// The scale, times what the product has as its `bounds`.
    case ofBounds
}

extension PackedFormat {
    @inline(__always) static var isSplit: Bool { false }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        codes(planes, step)
    }
    @inline(__always) static var offsets: Offsets { .none }
    @inline(__always) static func minimums(_ block: UnsafeRawPointer, _ part: Int) -> __m128i { _mm_setzero_si128() }
    @inline(__always) static func minimumScale(_ shared: Shared) -> __m512 { _mm512_setzero_ps() }
    @inline(__always) static var bytesAheadOfOneToken: Int { 6912 }
}

extension PackedLayout.Format {
    /// The code of weight 0; 0 in formats with offsets.
    var center: Int32 {
        switch self {
        case .Q4_0: 8
        case .Q5_0: 16
        case .Q8_0, .IQ4_NL, .IQ4_XS: 128
        case .Q3_K: 4
        case .Q6_K: 32
        case .MXFP4, .NVFP4: 12
        case .ternary: 1
        case .IQ1_M: 9
        case .IQ2: 43
        case .IQ3_XXS: 31
        case .IQ3_S: 15
        case .Q4_1, .Q5_1, .Q2_K, .Q4_K, .Q5_K, .IQ1_S: 0
        }
    }
}

/// Bytes from the weights that are multiplied to those that are prefetched. They go to the L2 cache, since the L1 cache can
/// have too few misses outstanding for two to four tokens. The hardware prefetcher stops at page borders, and restarts with
/// each block of rows that a thread takes; prefetching gains a third of the decode speed.
@inline(__always) var bytesAhead: Int { 3456 }

@inline(__always)
func prefetchLines(_ weights: UnsafeRawPointer, _ count: Int, toL1: Bool = false) {
    var line = weights
    let end = weights + count
    while line < end {
        if toL1 { prefetch(line) } else { prefetch_to_l2(line) }
        line += 64
    }
}

// MARK: Planes

@inline(__always)
func load64(_ p: UnsafeRawPointer) -> __m512i { p.loadUnaligned(as: __m512i.self) }

@inline(__always)
private func mask(_ v: __m512i, _ bits: Int8) -> __m512i { _mm512_and_si512(v, _mm512_set1_epi8(bits)) }

/// Shifts left by `places` (right if negative) within 16-bit words. Bits that cross bytes must be masked.
@inline(__always)
private func shift(_ v: __m512i, _ places: Int) -> __m512i {
    if places > 0 { return _mm512_slli_epi16(v, UInt32(truncatingIfNeeded: places)) }
    if places < 0 { return _mm512_srli_epi16(v, UInt32(truncatingIfNeeded: 0 &- places)) }
    return v
}

@inline(__always)
func nibbles(_ plane: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
    let v = load64(plane + 64 &* step)
    return (mask(v, 15), mask(shift(v, -4), 15))
}

/// One bit of each code, shifted to bit `place`.
@inline(__always)
func bits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (__m512i, __m512i) {
    let v = load64(plane)
    let bit = Int8(truncatingIfNeeded: 1 << place)
    return (mask(shift(v, place &- step), bit), mask(shift(v, place &- step &- 4), bit))
}

/// Two bits of each code, shifted to bits `place` and up.
@inline(__always)
func twoBits(_ plane: UnsafeRawPointer, _ step: Int, at place: Int) -> (__m512i, __m512i) {
    let both = Int8(truncatingIfNeeded: 3 << place)
    return (
        mask(shift(load64(plane), place &- 2 &* step), both),
        mask(shift(load64(plane + 64), place &- 2 &* step), both)
    )
}

@inline(__always)
func or(_ a: (__m512i, __m512i), _ b: (__m512i, __m512i)) -> (__m512i, __m512i) {
    (_mm512_or_si512(a.0, b.0), _mm512_or_si512(a.1, b.1))
}

// MARK: Scales

/// The half-precision scales of 16 rows: field `index` of the file's block.
@inline(__always)
func halves(_ block: UnsafeRawPointer, _ index: Int) -> __m512 {
    _mm512_cvtph_ps((block + 32 &* index).loadUnaligned(as: __m256i.self))
}

/// One byte for each of 16 rows.
@inline(__always)
func bytes(_ registers: UnsafeRawPointer, _ index: Int) -> __m128i {
    (registers + 16 &* index).loadUnaligned(as: __m128i.self)
}

@inline(__always)
func floats(unsigned bytes: __m128i) -> __m512 { _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)) }

@inline(__always)
private func floats(signed bytes: __m128i) -> __m512 { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)) }

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
func times(_ a: __m512, _ factor: Float) -> __m512 { _mm512_mul_ps(a, _mm512_set1_ps(factor)) }

// MARK: Codes

protocol PackedNibbles: PackedFormat {}
extension PackedNibbles {
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) { nibbles(planes, step) }
}

protocol PackedFiveBits: PackedFormat {}
extension PackedFiveBits {
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        or(nibbles(planes, step), bits(planes + 256, step, at: 4))
    }
}

/// Nibbles that index a table of 16 unsigned bytes.
protocol PackedLevels: PackedFormat {
    /// The table, eight levels per word, lowest byte first.
    static var levels: (UInt64, UInt64) { get }
}
extension PackedLevels {
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        let low = Int64(bitPattern: levels.0), high = Int64(bitPattern: levels.1)
        let table = _mm512_set_epi64(high, low, high, low, high, low, high, low)
        let (a, b) = nibbles(planes, step)
        return (_mm512_shuffle_epi8(table, a), _mm512_shuffle_epi8(table, b))
    }
}

/// The levels of IQ4_NL, plus 128.
protocol PackedIQ4Levels: PackedLevels {}
extension PackedIQ4Levels {
    static var segments: Int { 1 }
    static var levels: (UInt64, UInt64) { (0x766a_5d4f_3f2d_1801, 0xf1d9_c5b5_a699_8d81) }
}

/// `doubledE2M1`, plus 12.
protocol PackedE2M1: PackedLevels {}
extension PackedE2M1 {
    static var levels: (UInt64, UInt64) { (0x1814_1210_0f0e_0d0c, 0x0004_0608_090a_0b0c) }
}

// MARK: Scales of a kind

/// A scale of the whole block.
protocol PackedWithScale: PackedFormat where Shared == __m512 {}
extension PackedWithScale {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> __m512 { halves(block, 0) }
    @inline(__always)
    static func scales(
        _ shared: __m512, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        (shared, _mm512_setzero_ps())
    }
}

/// A scale and a minimum, which is added.
protocol PackedWithMinimum: PackedFormat where Shared == (__m512, __m512) {}
extension PackedWithMinimum {
    @inline(__always) static var offsets: Offsets { .ofSegments }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (__m512, __m512) {
        (halves(block, 0), times(halves(block, 1), -1))
    }
    @inline(__always)
    static func scales(
        _ shared: (__m512, __m512), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        (shared.0, shared.1)
    }
}

/// 6-bit scales and minimums, as in Q4_K.
protocol PackedWithSixBits: PackedFormat where Shared == (__m512, __m512) {}
extension PackedWithSixBits {
    @inline(__always) static var offsets: Offsets { .ofParts }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (__m512, __m512) { (halves(block, 0), halves(block, 1)) }
    @inline(__always)
    static func scales(
        _ shared: (__m512, __m512), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        let code = sixBits(bytes(block + 64, part), 0, bytes(block + 64 + 128, part >> 1), 4 &* (part & 1))
        return (_mm512_mul_ps(shared.0, floats(unsigned: code)), _mm512_setzero_ps())
    }
    @inline(__always)
    static func minimums(_ block: UnsafeRawPointer, _ part: Int) -> __m128i {
        sixBits(bytes(block + 64, part), 4, bytes(block + 64 + 128, part >> 1), 4 &* (part & 1) &+ 2)
    }
    @inline(__always)
    static func minimumScale(_ shared: (__m512, __m512)) -> __m512 { shared.1 }
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

enum PackedQ4_0: PackedNibbles, PackedWithScale {}
enum PackedQ5_0: PackedFiveBits, PackedWithScale {}
enum PackedIQ4_NL: PackedIQ4Levels, PackedWithScale {}
enum PackedQ4_1: PackedNibbles, PackedWithMinimum {}
enum PackedQ5_1: PackedFiveBits, PackedWithMinimum {}
enum PackedQ4_K: PackedNibbles, PackedWithSixBits {}
enum PackedQ5_K: PackedFiveBits, PackedWithSixBits {}

enum PackedQ8_0: PackedWithScale {
    static var segments: Int { 1 }
    /// Near on Zen 4: at 544 bytes per 32 columns its hardware prefetcher keeps up with the loop, and prefetches farther ahead
    /// disturb it.
    @inline(__always) static var bytesAheadOfOneToken: Int { cpu_is_amd_family_19h() != 0 ? 1088 : 6912 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        let sign = _mm512_set1_epi8(-128)
        return (
            _mm512_xor_si512(load64(planes + 64 &* step), sign),
            _mm512_xor_si512(load64(planes + (64 &* step &+ 256)), sign)
        )
    }
}

/// Codes of split Q8_0, see `PackedLayout.leadingQ8_0`.
///
/// - Parameter trailing: `nil`: the two lowest bits are 0.
@inline(__always)
private func splitCodes(
    _ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer?, _ step: Int
) -> (__m512i, __m512i) {
    let upper = load64(planes + 64 &* step), isUpper = _mm512_set1_epi8(-16)
    /// The lower nibbles of four steps are computed two and two: of even ones or of odd ones, so that two bits are shifted once.
    @inline(__always)
    func lower(_ register: Int) -> __m512i {
        let middle = load64(planes + (256 &+ 64 &* register))
        let pairs = step % 2 == 0 ? shift(mask(middle, 0x33), 2) : mask(middle, ~0x33)
        var both = pairs
        if let trailing {
            let last = load64(trailing + 64 &* register)
            both = _mm512_or_si512(pairs, mask(step % 2 == 0 ? last : shift(last, -2), 0x33))
        }
        return step < 2 ? both : shift(both, -4)
    }
    return (
        _mm512_or_si512(_mm512_and_si512(shift(upper, 4), isUpper), _mm512_andnot_si512(isUpper, lower(0))),
        _mm512_or_si512(_mm512_and_si512(upper, isUpper), _mm512_andnot_si512(isUpper, lower(1)))
    )
}

/// Split Q8_0 with all bits.
enum SplitQ8_0: PackedWithScale {
    static var segments: Int { 1 }
    static var isSplit: Bool { true }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) { splitCodes(planes, nil, step) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        splitCodes(planes, trailing, step)
    }
}

/// The leading part of split Q8_0, for upper bounds.
enum LeadingQ8_0: PackedFormat {
    @inline(__always) static var offsets: Offsets { .ofBounds }
    static var segments: Int { 1 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> __m512 { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) { splitCodes(planes, nil, step) }
    @inline(__always)
    static func scales(
        _ shared: __m512, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        (shared, shared)
    }
}

enum PackedQ6_K: PackedFormat {
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> __m512 { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        or(nibbles(planes, step), twoBits(planes + 256, step, at: 4))
    }
    @inline(__always)
    static func scales(
        _ shared: __m512, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        let scale = _mm512_mul_ps(shared, floats(signed: bytes(block + 32, 2 &* part &+ segment)))
        return (scale, _mm512_setzero_ps())
    }
}

enum PackedQ2_K: PackedFormat {
    @inline(__always) static var offsets: Offsets { .ofSegments }
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> (__m512, __m512) { (halves(block, 0), halves(block, 1)) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) { twoBits(planes, step, at: 0) }
    @inline(__always)
    static func scales(
        _ shared: (__m512, __m512), _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        let packed = bytes(block + 64, 2 &* part &+ segment)
        return (
            _mm512_mul_ps(shared.0, floats(unsigned: field(packed, 0, 4))),
            _mm512_mul_ps(shared.1, floats(unsigned: field(packed, 4, 4)))
        )
    }
}

enum PackedQ3_K: PackedFormat {
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> __m512 { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        or(twoBits(planes, step, at: 0), bits(planes + 128, step, at: 2))
    }
    @inline(__always)
    static func scales(
        _ shared: __m512, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        let low = bytes(block + 32, part)
        let high = bytes(block + 32 + 128, part >> 1)
        let code = floats(unsigned: sixBits(low, 4 &* segment, high, 4 &* (part & 1) &+ 2 &* segment))
        let scale = _mm512_mul_ps(shared, _mm512_sub_ps(code, _mm512_set1_ps(32)))
        return (scale, _mm512_setzero_ps())
    }
}

enum PackedIQ4_XS: PackedIQ4Levels {
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> __m512 { halves(block, 0) }
    @inline(__always)
    static func scales(
        _ shared: __m512, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        let low = bytes(block + 32, part >> 1)
        let high = bytes(block + 32 + 64, part >> 2)
        let code = floats(unsigned: sixBits(low, 4 &* (part & 1), high, 2 &* (part & 3)))
        let scale = _mm512_mul_ps(shared, _mm512_sub_ps(code, _mm512_set1_ps(32)))
        return (scale, _mm512_setzero_ps())
    }
}
