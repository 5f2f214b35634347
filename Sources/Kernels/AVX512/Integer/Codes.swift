// Registers of packed weights, for the formats in Packed. A register holds 16 rows.

import CIntrinsics
import KernelFormats

/// Four columns of 16 rows, in unsigned bytes.
typealias Codes = __m512i
typealias RowFloats = __m512

@inline(__always) func load64(_ p: UnsafeRawPointer) -> __m512i { p.loadUnaligned(as: __m512i.self) }

/// Sums of this tier have 32 bits, which are enough for all products of a part.
extension PackedIQ3_XXS {
    static var segments: Int { 1 }
}

// MARK: Codes

/// Signed bytes as codes: plus 128.
@inline(__always) func codesOfSigned(_ v: Codes) -> Codes { _mm512_xor_si512(v, _mm512_set1_epi8(-128)) }

@inline(__always)
func mask(_ v: Codes, _ bits: UInt8) -> Codes { _mm512_and_si512(v, _mm512_set1_epi8(Int8(bitPattern: bits))) }

@inline(__always) func or(_ a: Codes, _ b: Codes) -> Codes { _mm512_or_si512(a, b) }

/// Shifts left by `places` (right if negative) within 16-bit words. Bits that cross bytes must be masked.
@inline(__always)
func shift(_ v: Codes, _ places: Int) -> Codes {
    if places > 0 { return _mm512_slli_epi16(v, UInt32(truncatingIfNeeded: places)) }
    if places < 0 { return _mm512_srli_epi16(v, UInt32(truncatingIfNeeded: 0 &- places)) }
    return v
}

/// `table[code]`.
@inline(__always)
func lookUp(_ table: SIMD16<UInt8>, _ codes: Codes) -> Codes {
    let halves = unsafeBitCast(table, to: SIMD2<Int64>.self), (low, high) = (halves[0], halves[1])
    return _mm512_shuffle_epi8(_mm512_set_epi64(high, low, high, low, high, low, high, low), codes)
}

// MARK: Floats of rows

@inline(__always) func rows(_ value: Float) -> RowFloats { _mm512_set1_ps(value) }
@inline(__always) func times(_ a: RowFloats, _ b: RowFloats) -> RowFloats { _mm512_mul_ps(a, b) }
@inline(__always) func minus(_ a: RowFloats, _ b: Float) -> RowFloats { _mm512_sub_ps(a, rows(b)) }

/// `a · factor + b`.
@inline(__always)
func multiplyAdd(_ a: RowFloats, _ factor: Float, _ b: Float) -> RowFloats { _mm512_fmadd_ps(a, rows(factor), rows(b)) }

@inline(__always) func integers(unsigned bytes: Bytes) -> __m512i { _mm512_cvtepu8_epi32(bytes) }

@inline(__always) func floats(unsigned bytes: Bytes) -> RowFloats { _mm512_cvtepi32_ps(integers(unsigned: bytes)) }

@inline(__always) func floats(signed bytes: Bytes) -> RowFloats { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)) }

/// The half-precision scales of 16 rows: field `index` of the file's block.
@inline(__always)
func halves(_ block: UnsafeRawPointer, _ index: Int) -> RowFloats {
    _mm512_cvtph_ps((block + 32 &* index).loadUnaligned(as: __m256i.self))
}

/// Half-precision numbers whose bits are `bytes`, shifted left.
@inline(__always)
func halvesOfBytes(_ bytes: Bytes, shiftedBy places: Int32) -> RowFloats {
    _mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), places))
}

/// Half of 2^(e - 127), by shifting e to the exponent bits. Numbers below 2^-78 count as 0: kernels add to exponents of scales.
@inline(__always)
func halvedPowersOfTwo(_ exponents: Bytes) -> RowFloats {
    let scale = times(_mm512_castsi512_ps(_mm512_slli_epi32(integers(unsigned: exponents), 23)), 0.5)
    return zero_below(scale, rows(0x1p-79), scale)
}
