// Registers of packed weights, for the formats in Packed.

import CIntrinsics
import KernelFormats

/// Four columns of eight rows, in unsigned bytes.
typealias Codes = __m256i
/// Floats of rows 0..<8 and 8..<16.
typealias RowFloats = (__m256, __m256)

// MARK: Codes

/// Signed bytes as codes: plus 128.
@inline(__always) func codesOfSigned(_ v: Codes) -> Codes { _mm256_xor_si256(v, _mm256_set1_epi8(-128)) }

@inline(__always)
func mask(_ v: Codes, _ bits: UInt8) -> Codes { _mm256_and_si256(v, _mm256_set1_epi8(Int8(bitPattern: bits))) }

@inline(__always) func or(_ a: Codes, _ b: Codes) -> Codes { _mm256_or_si256(a, b) }

/// Shifts left by `places` (right if negative) within 16-bit words. Bits that cross bytes must be masked.
@inline(__always)
func shift(_ v: Codes, _ places: Int) -> Codes {
    if places > 0 { return _mm256_slli_epi16(v, Int32(truncatingIfNeeded: places)) }
    if places < 0 { return _mm256_srli_epi16(v, Int32(truncatingIfNeeded: 0 &- places)) }
    return v
}

/// `table[code]`.
@inline(__always)
func lookUp(_ table: SIMD16<UInt8>, _ codes: Codes) -> Codes {
    let halves = unsafeBitCast(table, to: SIMD2<Int64>.self)
    return _mm256_shuffle_epi8(_mm256_set_epi64x(halves[1], halves[0], halves[1], halves[0]), codes)
}

// MARK: Floats of rows

@inline(__always) func rows(_ value: Float) -> RowFloats { (_mm256_set1_ps(value), _mm256_set1_ps(value)) }

@inline(__always)
func times(_ a: RowFloats, _ b: RowFloats) -> RowFloats { (_mm256_mul_ps(a.0, b.0), _mm256_mul_ps(a.1, b.1)) }

@inline(__always)
func minus(_ a: RowFloats, _ b: Float) -> RowFloats {
    let b = _mm256_set1_ps(b)
    return (_mm256_sub_ps(a.0, b), _mm256_sub_ps(a.1, b))
}

/// `a · factor + b`.
@inline(__always)
func multiplyAdd(_ a: RowFloats, _ factor: Float, _ b: Float) -> RowFloats {
    let (factor, b) = (_mm256_set1_ps(factor), _mm256_set1_ps(b))
    return (_mm256_fmadd_ps(a.0, factor, b), _mm256_fmadd_ps(a.1, factor, b))
}

@inline(__always) func floats(unsigned bytes: Bytes) -> RowFloats { rows16(unsigned: bytes) }
@inline(__always) func floats(signed bytes: Bytes) -> RowFloats { rows16(signed: bytes) }

/// The half-precision scales of 16 rows: field `index` of the file's block.
@inline(__always)
func halves(_ block: UnsafeRawPointer, _ index: Int) -> RowFloats {
    (loadHalves(block + 32 &* index), loadHalves(block + (32 &* index &+ 16)))
}

/// Half-precision numbers whose bits are `bytes`, shifted left.
@inline(__always)
func halvesOfBytes(_ bytes: Bytes, shiftedBy places: Int32) -> RowFloats {
    @inline(__always)
    func eight(_ v: __m128i) -> __m256 { _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(v), places)) }
    return (eight(bytes), eight(_mm_unpackhi_epi64(bytes, bytes)))
}

/// Half of 2^(e - 127), by shifting e to the exponent bits. e = 0 must be clamped, since these bits would be zero.
@inline(__always)
func halvedPowersOfTwo(_ exponents: Bytes) -> RowFloats {
    @inline(__always)
    func power(_ e: __m256i) -> __m256 {
        _mm256_castsi256_ps(_mm256_max_epi32(exponent_of_two(e), _mm256_set1_epi32(0x0040_0000)))
    }
    let upper = _mm_unpackhi_epi64(exponents, exponents)
    return times((power(_mm256_cvtepu8_epi32(exponents)), power(_mm256_cvtepu8_epi32(upper))), 0.5)
}
