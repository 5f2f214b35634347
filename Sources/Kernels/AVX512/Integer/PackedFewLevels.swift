// Formats with few levels: 4-bit floats, ternary codes, and codes of grid points.

import CIntrinsics
import KernelFormats

// MARK: 4-bit floats

enum PackedMXFP4: PackedE2M1 {
    static var segments: Int { 1 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> __m512 {
        // 2^(e - 127), by exponent bits. Halved: levels are doubled. Numbers below 2^-78 count as 0.
        let e = _mm512_cvtepu8_epi32(bytes(block, 0))
        let scale = times(_mm512_castsi512_ps(_mm512_slli_epi32(e, 23)), 0.5)
        return zero_below(scale, _mm512_set1_ps(0x1p-79), scale)
    }
    @inline(__always)
    static func scales(
        _ shared: __m512, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        (shared, _mm512_setzero_ps())
    }
}

enum PackedNVFP4: PackedE2M1 {
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) {}
    @inline(__always)
    static func scales(
        _ shared: Void, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        let halves = _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes(block, 2 &* part &+ segment)), 7)
        // Half the values of numbers with four exponent bits, bias 7, and three mantissa bits. Shifted to the position
        // in a half-precision number, their bias is 15.
        let scale = times(_mm512_cvtph_ps(halves), 128)
        return (scale, _mm512_setzero_ps())
    }
}

// MARK: Ternary codes

enum PackedTernary: PackedWithScale {
    static var segments: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) { twoBits(planes, step, at: 0) }
}

enum PackedIQ1_S: PackedFormat {
    @inline(__always) static var offsets: Offsets { .ofSegments }
    static var segments: Int { 1 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> __m512 { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) { twoBits(planes, step, at: 0) }
    @inline(__always)
    static func scales(
        _ shared: __m512, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        let packed = bytes(block + 32, part >> 1)
        let scale = _mm512_mul_ps(shared, odd(field(packed, 4 &* (part & 1), 3)))
        // The code is the value plus 1; the shift of ±1/8 goes to the offset.
        let isNegative = floats(unsigned: field(packed, 4 &* (part & 1) &+ 3, 1))
        let shift = _mm512_fmadd_ps(isNegative, _mm512_set1_ps(0.25), _mm512_set1_ps(0.875))
        return (scale, _mm512_mul_ps(scale, shift))
    }
}

// MARK: Grids

/// `2 · scale + 1`.
@inline(__always)
private func odd(_ codes: __m128i) -> __m512 {
    _mm512_fmadd_ps(floats(unsigned: codes), _mm512_set1_ps(2), _mm512_set1_ps(1))
}

/// 4-bit scales: odd multiples of `unit` times the block's scale.
protocol PackedWithOddScales: PackedFormat where Shared == __m512 {
    static var unit: Float { get }
    /// Scales per 32 columns: 1 or 2.
    static var scalesOfPart: Int { get }
}
extension PackedWithOddScales {
    static var segments: Int { 2 }
    static var scalesOfPart: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> __m512 { times(halves(block, 0), unit) }
    @inline(__always)
    static func scales(
        _ shared: __m512, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: __m512, offset: __m512) {
        let index = scalesOfPart == 1 ? part : 2 &* part &+ segment
        let scale = _mm512_mul_ps(shared, odd(field(bytes(block + 32, index >> 1), 4 &* (index & 1), 4)))
        return (scale, _mm512_setzero_ps())
    }
}

/// Values `8 · (-1, 0 or 1) ± 1`, stored plus 9.
enum PackedIQ1_M: PackedWithOddScales {
    static var unit: Float { 0.125 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        or(twoBits(planes, step, at: 3), bits(planes + 128, step, at: 1))
    }
}

/// Values ±8, ±25 and ±43, stored plus 43.
enum PackedIQ2: PackedWithOddScales {
    static var unit: Float { 0.125 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        let levels: Int64 = 0x0000_1223_0056_4433
        let table = _mm512_set1_epi64(levels)
        let (a, b) = or(twoBits(planes, step, at: 0), bits(planes + 128, step, at: 2))
        return (_mm512_shuffle_epi8(table, a), _mm512_shuffle_epi8(table, b))
    }
}

/// Values ±4, 12, …, 52 and 62, halved, stored plus 31.
enum PackedIQ3_XXS: PackedLevels, PackedWithOddScales {
    static var segments: Int { 1 }
    static var unit: Float { 0.5 }
    static var scalesOfPart: Int { 1 }
    static var levels: (UInt64, UInt64) { (0x3e39_3531_2d29_2521, 0x0005_090d_1115_191d) }
}

/// Values `2 · q - 15`, the odd numbers from -15 to 15, stored as q.
enum PackedIQ3_S: PackedWithOddScales {
    static var segments: Int { 1 }
    static var unit: Float { 1 }
    static var scalesOfPart: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (__m512i, __m512i) {
        let (a, b) = nibbles(planes, step)
        return (_mm512_slli_epi16(a, 1), _mm512_slli_epi16(b, 1))
    }
}
