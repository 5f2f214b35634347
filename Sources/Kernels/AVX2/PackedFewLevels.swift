// Formats with few levels: 4-bit floats, ternary codes, and codes of grid points.

import CIntrinsics
import KernelFormats

// MARK: 4-bit floats

enum PackedMXFP4: PackedE2M1 {
    static var segments: Int { 1 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows16 {
        let exponents = load16Bytes(block)
        return (
            half(powers(_mm256_cvtepu8_epi32(exponents))),
            half(powers(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(exponents, exponents))))
        )
    }
    @inline(__always)
    static func scales(
        _ shared: Rows16, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        (shared, times(shared, 12))
    }
    /// 2^(e - 127), by shifting e to the exponent bits. e = 0 must be clamped, since these bits would be zero.
    @inline(__always)
    private static func powers(_ e: __m256i) -> __m256 {
        _mm256_castsi256_ps(_mm256_max_epi32(exponent_of_two(e), _mm256_set1_epi32(0x0040_0000)))
    }
    /// Compensates for doubled levels.
    @inline(__always)
    private static func half(_ v: __m256) -> __m256 { _mm256_mul_ps(v, _mm256_set1_ps(0.5)) }
}

enum PackedNVFP4: PackedE2M1 {
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) {}
    @inline(__always)
    static func scales(
        _ shared: Void, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        let packed = bytes(block, 2 &* part &+ segment)
        let scale = (floats(packed), floats(_mm_unpackhi_epi64(packed, packed)))
        return (scale, times(scale, 12))
    }
    /// Half the values of eight numbers with four exponent bits, bias 7, and three mantissa bits. Shifted to the
    /// position in a half-precision number, their bias is 15.
    @inline(__always)
    private static func floats(_ v: __m128i) -> __m256 {
        _mm256_mul_ps(_mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(v), 7)), _mm256_set1_ps(128))
    }
}

// MARK: Ternary codes

enum PackedTernary: PackedWithScale {
    static var planeBytes: Int { 128 }
    static var segments: Int { 1 }
    static var offset: Float { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) { twoBits(planes, step, at: 0) }
}

enum PackedIQ1_S: PackedFormat {
    static var planeBytes: Int { 128 }
    static var segments: Int { 1 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows16 { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) { twoBits(planes, step, at: 0) }
    @inline(__always)
    static func scales(
        _ shared: Rows16, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        let packed = bytes(block + 32, part >> 1)
        let scale = times(shared, odd(field(packed, 4 &* (part & 1), 3)))
        // The code is the value plus 1; the shift of ±1/8 goes to the offset.
        let isNegative = rows16(unsigned: field(packed, 4 &* (part & 1) &+ 3, 1))
        return (scale, times(scale, (shift(isNegative.0), shift(isNegative.1))))
    }
    @inline(__always)
    private static func shift(_ isNegative: __m256) -> __m256 {
        _mm256_fmadd_ps(isNegative, _mm256_set1_ps(0.25), _mm256_set1_ps(0.875))
    }
}

// MARK: Grids

/// `2 · scale + 1`.
@inline(__always)
private func odd(_ codes: __m128i) -> Rows16 {
    let (scale, one, two) = (rows16(unsigned: codes), _mm256_set1_ps(1), _mm256_set1_ps(2))
    return (_mm256_fmadd_ps(scale.0, two, one), _mm256_fmadd_ps(scale.1, two, one))
}

/// 4-bit scales: odd multiples of `unit` times the block's scale. The offset is a multiple of the scale.
protocol PackedWithOddScales: PackedFormat where Shared == Rows16 {
    static var unit: Float { get }
    static var offset: Float { get }
    /// Scales per 32 columns: 1 or 2.
    static var scalesOfPart: Int { get }
}
extension PackedWithOddScales {
    static var segments: Int { 2 }
    static var scalesOfPart: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows16 { times(halves(block, 0), unit) }
    @inline(__always)
    static func scales(
        _ shared: Rows16, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows16, offset: Rows16) {
        let index = scalesOfPart == 1 ? part : 2 &* part &+ segment
        let scale = times(shared, odd(field(bytes(block + 32, index >> 1), 4 &* (index & 1), 4)))
        return (scale, times(scale, offset))
    }
}

/// Values `8 · (-1, 0 or 1) ± 1`, stored plus 9.
enum PackedIQ1_M: PackedWithOddScales {
    static var planeBytes: Int { 128 + 64 }
    static var unit: Float { 0.125 }
    static var offset: Float { 9 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        or(twoBits(planes, step, at: 3), bits(planes + 128, step, at: 1))
    }
}

/// Values ±8, ±25 and ±43, stored plus 43.
enum PackedIQ2: PackedWithOddScales {
    @inline(__always) static var hasLargeCodes: Bool { true }
    static var planeBytes: Int { 128 + 64 }
    static var unit: Float { 0.125 }
    static var offset: Float { 43 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m256i, __m256i) {
        let levels: Int64 = 0x0000_1223_0056_4433
        let table = _mm256_set1_epi64x(levels)
        let (a, b) = or(twoBits(planes, step, at: 0), bits(planes + 128, step, at: 2))
        return (_mm256_shuffle_epi8(table, a), _mm256_shuffle_epi8(table, b))
    }
}

/// Values ±4, 12, …, 52 and 62, halved, stored plus 31.
enum PackedIQ3_XXS: PackedLevels, PackedWithOddScales {
    static var unit: Float { 0.5 }
    static var offset: Float { 31 }
    static var scalesOfPart: Int { 1 }
    static var levels: (UInt64, UInt64) { (0x3e39_3531_2d29_2521, 0x0005_090d_1115_191d) }
}

/// Values `2 · q - 15`, the odd numbers from -15 to 15.
enum PackedIQ3_S: PackedNibbles, PackedWithOddScales {
    static var segments: Int { 1 }
    static var unit: Float { 2 }
    static var offset: Float { 7.5 }
    static var scalesOfPart: Int { 1 }
}
