import CIntrinsics
import KernelsFloat

/// Sixteen floats in a register.
struct SixteenFloats: KernelVector {
    let v: __m512

    @inline(__always) init(_ v: __m512) { self.v = v }
    @inline(__always) init(_ value: Float) { v = _mm512_set1_ps(value) }
    @inline(__always) static func load(_ p: UnsafePointer<Float>) -> Self { Self(_mm512_loadu_ps(p)) }
    @inline(__always) func store(_ p: UnsafeMutablePointer<Float>) { _mm512_storeu_ps(p, v) }

    @inline(__always) static func + (a: Self, b: Self) -> Self { Self(_mm512_add_ps(a.v, b.v)) }
    @inline(__always) static func - (a: Self, b: Self) -> Self { Self(_mm512_sub_ps(a.v, b.v)) }
    @inline(__always) static func * (a: Self, b: Self) -> Self { Self(_mm512_mul_ps(a.v, b.v)) }
    @inline(__always) static func / (a: Self, b: Self) -> Self { Self(_mm512_div_ps(a.v, b.v)) }
    @inline(__always) static func min(_ a: Self, _ b: Self) -> Self { Self(_mm512_min_ps(a.v, b.v)) }
    @inline(__always) static func max(_ a: Self, _ b: Self) -> Self { Self(_mm512_max_ps(a.v, b.v)) }
    @inline(__always) func rounded() -> Self { Self(_mm512_cvtepi32_ps(_mm512_cvtps_epi32(v))) }

    @inline(__always) static var count: Int { 16 }
    @inline(__always)
    static var indices: Self { Self(_mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)) }

    @inline(__always)
    static func loadHalves(_ p: UnsafeRawPointer) -> Self { Self(_mm512_cvtph_ps(p.loadUnaligned(as: __m256i.self))) }

    @inline(__always)
    static func loadBFloats(_ p: UnsafeRawPointer) -> Self {
        Self(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(p.loadUnaligned(as: __m256i.self)), 16)))
    }

    @inline(__always)
    static func multiplyAdd(_ a: Self, _ b: Self, _ c: Self) -> Self { Self(_mm512_fmadd_ps(a.v, b.v, c.v)) }
    @inline(__always)
    func scaled(byPowerOfTwo n: Self) -> Self { Self(_mm512_scalef_ps(v, n.v)) }
    @inline(__always)
    func zeroed(where x: Self, isBelow low: Self) -> Self { Self(zero_below(x.v, low.v, v)) }

    @inline(__always) var first: Float { _mm512_cvtss_f32(v) }
    @inline(__always) var sum: Float { _mm512_reduce_add_ps(v) }
    @inline(__always) var largest: Float { _mm512_reduce_max_ps(v) }
}

extension NumberFormat {
    @inline(__always)
    static func load(_ p: UnsafeRawPointer) -> __m512 { (load(p) as SixteenFloats).v }
}
