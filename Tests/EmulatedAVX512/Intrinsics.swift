// The rest of the intrinsics of AVX-512 that the kernels use, for a processor that has only AVX2; see Halves.swift.

import CIntrinsics

func cpu_has_avx512_vnni() -> Int32 { cpu_has_avx2_fma_f16c() }

@inline(__always) private func elements(_ a: __m512i) -> SIMD16<Int32> { unsafeBitCast(a, to: SIMD16<Int32>.self) }
@inline(__always) private func register(_ a: SIMD16<Int32>) -> __m512i { unsafeBitCast(a, to: __m512i.self) }

@inline(__always) func in_order_wide(_ a: __m512i) -> __m512i { a }
@inline(__always)
func add_products_of_words(_ sums: __m512i, _ a: __m512i, _ b: __m512i) -> __m512i { _mm512_dpwssd_epi32(sums, a, b) }

// MARK: Floats

@inline(__always) func _mm512_div_ps(_ a: __m512, _ b: __m512) -> __m512 { a / b }
func _mm512_sqrt_ps(_ a: __m512) -> __m512 { join(_mm256_sqrt_ps(low(a)), _mm256_sqrt_ps(high(a))) }
@inline(__always)
func _mm512_min_ps(_ a: __m512, _ b: __m512) -> __m512 {
    join(_mm256_min_ps(low(a), low(b)), _mm256_min_ps(high(a), high(b)))
}
/// `a · 2^⌊b⌋`
func _mm512_scalef_ps(_ a: __m512, _ b: __m512) -> __m512 {
    var result = a
    for index in 0..<16 {
        let power = b[index].rounded(.down)
        result[index] =
            power.isNaN ? power : Float(sign: .plus, exponent: Int(min(400, max(-400, power))), significand: a[index])
    }
    return result
}

// MARK: Integers

@inline(__always)
func _mm512_max_epi32(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_max_epi32(low(a), low(b)), _mm256_max_epi32(high(a), high(b)))
}
/// Adds to each sum four products of unsigned bytes of `a` and signed ones of `b`. Called, since the compiler would take
/// minutes if it was part of every loop.
@inline(never)
func _mm512_dpbusd_epi32(_ sums: __m512i, _ a: __m512i, _ b: __m512i) -> __m512i {
    var sums = elements(sums)
    for byte: Int32 in 0..<4 {
        // One at a time: Swift 6.0 gives up on the whole expression.
        let unsigned = (elements(a) &>> (8 &* byte)) & 255
        let left = elements(b) &<< (24 &- 8 &* byte)
        let signed = left &>> 24
        sums &+= unsigned &* signed
    }
    return register(sums)
}
/// Adds to each sum two products of signed words.
@inline(__always)
func _mm512_dpwssd_epi32(_ sums: __m512i, _ a: __m512i, _ b: __m512i) -> __m512i {
    _mm512_add_epi32(
        sums, join(_mm256_madd_epi16(low(a), low(b)), _mm256_madd_epi16(high(a), high(b))))
}

// MARK: Constants, loads, conversions

@inline(__always)
func _mm512_set_ps(
    _ p: Float, _ o: Float, _ n: Float, _ m: Float, _ l: Float, _ k: Float, _ j: Float, _ i: Float, _ h: Float,
    _ g: Float, _ f: Float, _ e: Float, _ d: Float, _ c: Float, _ b: Float, _ a: Float
) -> __m512 { __m512(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) }
@inline(__always) func _mm512_broadcast_f32x8(_ a: __m256) -> __m512 { join(a, a) }
@inline(__always) func _mm512_castsi512_si128(_ a: __m512i) -> __m128i { _mm256_castsi256_si128(low(a)) }
@inline(__always) func _mm512_cvtss_f32(_ a: __m512) -> Float { a[0] }
@inline(__always)
func _mm512_cvtepu16_epi32(_ a: __m256i) -> __m512i {
    join(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)), _mm256_cvtepu16_epi32(upper_lane_of_integers(a)))
}

/// The low byte of each number.
@inline(__always)
func _mm512_cvtepi32_epi16(_ a: __m512i) -> __m256i {
    unsafeBitCast(SIMD16<UInt16>(truncatingIfNeeded: elements(a)), to: __m256i.self)
}

// MARK: All lanes

/// Adds halves until one number is left, as the compiler does.
@inline(__always)
func _mm512_reduce_add_ps(_ a: __m512) -> Float {
    let eight = low(a) + high(a)
    let four = eight.lowHalf + eight.highHalf
    let two = four.lowHalf + four.highHalf
    return two[0] + two[1]
}
@inline(__always)
func _mm512_reduce_max_ps(_ a: __m512) -> Float {
    (1..<16).reduce(a[0]) { $0 > a[$1] ? $0 : a[$1] }
}
@inline(__always) func _mm512_reduce_add_epi32(_ a: __m512i) -> Int32 { elements(a).wrappedSum() }
@inline(__always) func _mm512_reduce_max_epi32(_ a: __m512i) -> Int32 { elements(a).max() }

// MARK: Functions of CIntrinsics for macros

@inline(__always)
func select_above(_ a: __m512, _ b: __m512, _ value: __m512, _ other: __m512) -> __m512 {
    other.replacing(with: value, where: a .> b)
}
@inline(__always)
func select_within(_ first: __m512i, _ end: __m512i, _ index: Int32, _ value: __m512, _ other: __m512) -> __m512 {
    other.replacing(with: value, where: (elements(first) .<= index) .& (elements(end) .> index))
}
@inline(__always) func join_halves(_ low: __m256, _ high: __m256) -> __m512 { join(low, high) }
