import CIntrinsics
import KernelsFloat

extension EightFloats {
    @inline(__always) init(_ value: Float) { v = _mm256_set1_ps(value) }
    @inline(__always) static func load(_ p: UnsafePointer<Float>) -> Self { Self(_mm256_loadu_ps(p)) }
    @inline(__always) func store(_ p: UnsafeMutablePointer<Float>) { _mm256_storeu_ps(p, v) }

    @inline(__always) static func + (a: Self, b: Self) -> Self { Self(_mm256_add_ps(a.v, b.v)) }
    @inline(__always) static func - (a: Self, b: Self) -> Self { Self(_mm256_sub_ps(a.v, b.v)) }
    @inline(__always) static func * (a: Self, b: Self) -> Self { Self(_mm256_mul_ps(a.v, b.v)) }
    @inline(__always) static func / (a: Self, b: Self) -> Self { Self(_mm256_div_ps(a.v, b.v)) }
    @inline(__always) static func min(_ a: Self, _ b: Self) -> Self { Self(_mm256_min_ps(a.v, b.v)) }
    @inline(__always) static func max(_ a: Self, _ b: Self) -> Self { Self(_mm256_max_ps(a.v, b.v)) }
    @inline(__always) func rounded() -> Self { Self(round_to_nearest(v)) }

    @inline(__always) static var count: Int { 8 }
    @inline(__always) static var indices: Self { Self(_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7)) }

    @inline(__always)
    static func loadHalves(_ p: UnsafeRawPointer) -> Self { Self(_mm256_cvtph_ps(load16Bytes(p))) }

    @inline(__always)
    static func loadBFloats(_ p: UnsafeRawPointer) -> Self {
        Self(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16Bytes(p)), 16)))
    }

    @inline(__always)
    static func multiplyAdd(_ a: Self, _ b: Self, _ c: Self) -> Self { Self(_mm256_fmadd_ps(a.v, b.v, c.v)) }

    @inline(__always)
    func scaled(byPowerOfTwo n: Self) -> Self {
        let power = exponent_of_two(_mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127)))
        return Self(_mm256_mul_ps(v, _mm256_castsi256_ps(power)))
    }

    @inline(__always)
    func zeroed(where x: Self, isBelow low: Self) -> Self { Self(_mm256_and_ps(v, is_not_below(x.v, low.v))) }

    @inline(__always) var first: Float { _mm256_cvtss_f32(v) }
    @inline(__always) var sum: Float { sumOfLanes(v) }

    @inline(__always)
    var largest: Float {
        var m = _mm_max_ps(_mm256_castps256_ps128(v), upper_lane(v))
        m = _mm_max_ps(m, _mm_movehl_ps(m, m))
        return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)))
    }

    @inline(__always)
    static func floats(unsigned codes: Codes) -> (Self, Self) {
        let (low, high) = rows16(unsigned: codes.v)
        return (Self(low), Self(high))
    }

    @inline(__always)
    static func floats(signed codes: Codes) -> (Self, Self) {
        let (low, high) = rows16(signed: codes.v)
        return (Self(low), Self(high))
    }

    @inline(__always)
    static func floats(unsigned bytes: UInt64) -> Self {
        Self(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(Int64(bitPattern: bytes)))))
    }

    @inline(__always)
    static func floats(signed bytes: UInt64) -> Self {
        Self(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(Int64(bitPattern: bytes)))))
    }

    @inline(__always)
    static func half(_ p: UnsafeRawPointer) -> Self {
        Self(_mm256_cvtph_ps(_mm_set1_epi16(p.loadUnaligned(as: Int16.self))))
    }

    @inline(__always)
    func lane(_ index: Int) -> Self {
        Self(_mm256_permutevar8x32_ps(v, _mm256_set1_epi32(Int32(truncatingIfNeeded: index))))
    }

    @inline(__always)
    static func sums(_ a: Self, _ b: Self, _ c: Self, _ d: Self) -> SIMD4<Float> {
        let fours = _mm256_hadd_ps(_mm256_hadd_ps(a.v, b.v), _mm256_hadd_ps(c.v, d.v))
        return _mm_add_ps(_mm256_castps256_ps128(fours), upper_lane(fours))
    }
}
