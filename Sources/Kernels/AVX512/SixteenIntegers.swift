import CIntrinsics
import KernelsFloat

/// Sixteen 32-bit integers in a register, or pairs of words, or four bytes each.
struct SixteenIntegers: IntegerVector {
    let v: __m512i

    @inline(__always) init(_ v: __m512i) { self.v = v }
    @inline(__always) init(_ value: Int32) { v = _mm512_set1_epi32(value) }
    @inline(__always) init(repeating p: UnsafeRawPointer) { v = broadcast(p) }
    @inline(__always) static func load(_ p: UnsafeRawPointer) -> Self { Self(load64(p)) }
    @inline(__always) func store(_ p: UnsafeMutableRawPointer) { p.storeBytes(of: v, as: __m512i.self) }

    @inline(__always) static func + (a: Self, b: Self) -> Self { Self(_mm512_add_epi32(a.v, b.v)) }
    @inline(__always) static func & (a: Self, b: Self) -> Self { Self(_mm512_and_si512(a.v, b.v)) }
    @inline(__always) static func | (a: Self, b: Self) -> Self { Self(_mm512_or_si512(a.v, b.v)) }
    @inline(__always) func shiftedLeft(by bits: Int32) -> Self { Self(_mm512_slli_epi32(v, UInt32(bits))) }
    @inline(__always) static func max(_ a: Self, _ b: Self) -> Self { Self(_mm512_max_epi32(a.v, b.v)) }
    @inline(__always) var largest: Int32 { _mm512_reduce_max_epi32(v) }
    @inline(__always)
    static func areEqual(_ a: Self, _ b: Self) -> Bool {
        let difference = _mm512_xor_si512(a.v, b.v)
        return _mm512_test_epi32_mask(difference, difference) == 0
    }
    @inline(__always)
    static func addProducts(_ sum: Self, _ a: Self, _ b: Self) -> Self {
        Self(_mm512_dpwssd_epi32(sum.v, a.v, b.v))
    }

    @inline(__always) init(rounding x: SixteenFloats) { v = _mm512_cvtps_epi32(x.v) }
    @inline(__always) var floats: SixteenFloats { SixteenFloats(_mm512_cvtepi32_ps(v)) }
    @inline(__always) init(bitsOf x: SixteenFloats) { v = _mm512_castps_si512(x.v) }
    @inline(__always) var asFloats: SixteenFloats { SixteenFloats(_mm512_castsi512_ps(v)) }

    @inline(__always)
    static func squareRoot(_ x: SixteenFloats) -> SixteenFloats { SixteenFloats(_mm512_sqrt_ps(x.v)) }
    @inline(__always)
    static func choose(
        _ a: SixteenFloats, above b: SixteenFloats, _ x: SixteenFloats, else y: SixteenFloats
    ) -> SixteenFloats {
        SixteenFloats(select_above(a.v, b.v, x.v, y.v))
    }
    @inline(__always)
    static func choose(
        _ index: Int32, from first: Self, to end: Self, _ x: SixteenFloats, else y: SixteenFloats
    ) -> SixteenFloats {
        SixteenFloats(select_within(first.v, end.v, index, x.v, y.v))
    }
}
