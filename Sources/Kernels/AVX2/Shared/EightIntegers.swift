import CIntrinsics
import KernelsFloat

/// Eight 32-bit integers in a register, or pairs of words.
struct EightIntegers: IntegerVector {
    let v: __m256i

    @inline(__always) init(_ v: __m256i) { self.v = v }
    @inline(__always) init(_ value: Int32) { v = _mm256_set1_epi32(value) }
    @inline(__always) init(repeating p: UnsafeRawPointer) { v = _mm256_set1_epi32(p.loadUnaligned(as: Int32.self)) }
    @inline(__always) static func load(_ p: UnsafeRawPointer) -> Self { Self(p.loadUnaligned(as: __m256i.self)) }
    @inline(__always) func store(_ p: UnsafeMutableRawPointer) { p.storeBytes(of: v, as: __m256i.self) }

    @inline(__always) static func + (a: Self, b: Self) -> Self { Self(_mm256_add_epi32(a.v, b.v)) }
    @inline(__always) static func & (a: Self, b: Self) -> Self { Self(_mm256_and_si256(a.v, b.v)) }
    @inline(__always) static func | (a: Self, b: Self) -> Self { Self(_mm256_or_si256(a.v, b.v)) }
    @inline(__always) func shiftedLeft(by bits: Int32) -> Self { Self(_mm256_slli_epi32(v, bits)) }
    @inline(__always) static func max(_ a: Self, _ b: Self) -> Self { Self(_mm256_max_epi32(a.v, b.v)) }
    @inline(__always)
    var largest: Int32 {
        var m = _mm_max_epi32(_mm256_castsi256_si128(v), upper_lane_of_integers(v))
        m = _mm_max_epi32(m, _mm_unpackhi_epi64(m, m))
        return Swift.max(_mm_cvtsi128_si32(m), Int32(truncatingIfNeeded: _mm_cvtsi128_si64(m) >> 32))
    }
    @inline(__always)
    static func areEqual(_ a: Self, _ b: Self) -> Bool {
        let difference = _mm256_xor_si256(a.v, b.v)
        return _mm256_testz_si256(difference, difference) != 0
    }
    @inline(__always)
    static func addProducts(_ sum: Self, _ a: Self, _ b: Self) -> Self {
        Self(add_products_of_words(sum.v, a.v, b.v))
    }

    @inline(__always) init(rounding x: EightFloats) { v = _mm256_cvtps_epi32(x.v) }
    @inline(__always) var floats: EightFloats { EightFloats(_mm256_cvtepi32_ps(v)) }
    @inline(__always) init(bitsOf x: EightFloats) { v = _mm256_castps_si256(x.v) }
    @inline(__always) var asFloats: EightFloats { EightFloats(_mm256_castsi256_ps(v)) }

    @inline(__always)
    static func squareRoot(_ x: EightFloats) -> EightFloats { EightFloats(_mm256_sqrt_ps(x.v)) }
    @inline(__always)
    static func choose(
        _ a: EightFloats, above b: EightFloats, _ x: EightFloats, else y: EightFloats
    ) -> EightFloats {
        EightFloats(_mm256_blendv_ps(y.v, x.v, is_below(b.v, a.v)))
    }
    @inline(__always)
    static func choose(
        _ index: Int32, from first: Self, to end: Self, _ x: EightFloats, else y: EightFloats
    ) -> EightFloats {
        let index = _mm256_set1_epi32(index)
        let isWithin = _mm256_andnot_si256(_mm256_cmpgt_epi32(first.v, index), _mm256_cmpgt_epi32(end.v, index))
        return EightFloats(_mm256_blendv_ps(y.v, x.v, _mm256_castsi256_ps(isWithin)))
    }
}
