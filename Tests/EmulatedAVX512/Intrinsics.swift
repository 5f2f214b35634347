// The intrinsics of AVX-512 that the kernels use, for a processor that has only AVX2. In a module with them, the kernels
// call these functions instead of those of `CIntrinsics`, which have the same names.
//
// Results are those of the processor, bit for bit. Cases that the kernels do not meet are left out: other rounding modes,
// and shifts by more than an element's width.

import CIntrinsics

func cpu_has_avx512_vnni() -> Int32 { cpu_has_avx2_fma_f16c() }

// MARK: Halves and elements

private typealias Floats = (__m256, __m256)
private typealias Integers = (__m256i, __m256i)

@inline(__always) private func halves(_ a: __m512) -> Floats { (a.lowHalf, a.highHalf) }
@inline(__always) private func halves(_ a: __m512i) -> Integers { (a.lowHalf, a.highHalf) }
@inline(__always) private func join(_ a: __m256, _ b: __m256) -> __m512 { __m512(lowHalf: a, highHalf: b) }
@inline(__always) private func join(_ a: __m256i, _ b: __m256i) -> __m512i { __m512i(lowHalf: a, highHalf: b) }

@inline(__always) private func elements(_ a: __m512i) -> SIMD16<Int32> { unsafeBitCast(a, to: SIMD16<Int32>.self) }
@inline(__always) private func words(_ a: __m512i) -> SIMD32<UInt16> { unsafeBitCast(a, to: SIMD32<UInt16>.self) }
@inline(__always) private func bytes(_ a: __m512i) -> SIMD64<UInt8> { unsafeBitCast(a, to: SIMD64<UInt8>.self) }
@inline(__always) private func register<T: SIMD>(_ a: T) -> __m512i { unsafeBitCast(a, to: __m512i.self) }

@inline(__always) func at_once(_ a: __m512) -> __m512 { a }
@inline(__always) func in_order_wide(_ a: __m512i) -> __m512i { a }
@inline(__always)
func add_products_of_words(_ sums: __m512i, _ a: __m512i, _ b: __m512i) -> __m512i { _mm512_dpwssd_epi32(sums, a, b) }

// MARK: Floats

@inline(__always) func _mm512_add_ps(_ a: __m512, _ b: __m512) -> __m512 { a + b }
@inline(__always) func _mm512_sub_ps(_ a: __m512, _ b: __m512) -> __m512 { a - b }
@inline(__always) func _mm512_mul_ps(_ a: __m512, _ b: __m512) -> __m512 { a * b }
@inline(__always) func _mm512_div_ps(_ a: __m512, _ b: __m512) -> __m512 { a / b }
func _mm512_sqrt_ps(_ a: __m512) -> __m512 { join(_mm256_sqrt_ps(a.lowHalf), _mm256_sqrt_ps(a.highHalf)) }
@inline(__always)
func _mm512_min_ps(_ a: __m512, _ b: __m512) -> __m512 {
    join(_mm256_min_ps(a.lowHalf, b.lowHalf), _mm256_min_ps(a.highHalf, b.highHalf))
}
@inline(__always)
func _mm512_max_ps(_ a: __m512, _ b: __m512) -> __m512 {
    join(_mm256_max_ps(a.lowHalf, b.lowHalf), _mm256_max_ps(a.highHalf, b.highHalf))
}
@inline(__always)
func _mm512_fmadd_ps(_ a: __m512, _ b: __m512, _ c: __m512) -> __m512 {
    join(_mm256_fmadd_ps(a.lowHalf, b.lowHalf, c.lowHalf), _mm256_fmadd_ps(a.highHalf, b.highHalf, c.highHalf))
}
@inline(__always)
func _mm512_fnmadd_ps(_ a: __m512, _ b: __m512, _ c: __m512) -> __m512 {
    join(_mm256_fnmadd_ps(a.lowHalf, b.lowHalf, c.lowHalf), _mm256_fnmadd_ps(a.highHalf, b.highHalf, c.highHalf))
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

@inline(__always) func _mm512_and_si512(_ a: __m512i, _ b: __m512i) -> __m512i { a & b }
@inline(__always) func _mm512_andnot_si512(_ a: __m512i, _ b: __m512i) -> __m512i { ~a & b }
@inline(__always) func _mm512_or_si512(_ a: __m512i, _ b: __m512i) -> __m512i { a | b }
@inline(__always) func _mm512_xor_si512(_ a: __m512i, _ b: __m512i) -> __m512i { a ^ b }
@inline(__always)
func _mm512_add_epi32(_ a: __m512i, _ b: __m512i) -> __m512i { register(elements(a) &+ elements(b)) }
@inline(__always)
func _mm512_max_epi32(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_max_epi32(a.lowHalf, b.lowHalf), _mm256_max_epi32(a.highHalf, b.highHalf))
}
@inline(__always)
func _mm512_sub_epi32(_ a: __m512i, _ b: __m512i) -> __m512i { register(elements(a) &- elements(b)) }
@inline(__always)
func _mm512_mullo_epi32(_ a: __m512i, _ b: __m512i) -> __m512i { register(elements(a) &* elements(b)) }
@inline(__always)
func _mm512_srai_epi32(_ a: __m512i, _ count: UInt32) -> __m512i { register(elements(a) &>> Int32(count)) }
@inline(__always)
func _mm512_slli_epi16(_ a: __m512i, _ count: UInt32) -> __m512i { register(words(a) &<< UInt16(count)) }
@inline(__always)
func _mm512_srli_epi16(_ a: __m512i, _ count: UInt32) -> __m512i { register(words(a) &>> UInt16(count)) }
@inline(__always)
func _mm512_slli_epi32(_ a: __m512i, _ count: UInt32) -> __m512i { register(elements(a) &<< Int32(count)) }
@inline(__always)
func _mm512_slli_epi64(_ a: __m512i, _ count: UInt32) -> __m512i {
    register(unsafeBitCast(a, to: SIMD8<UInt64>.self) &<< UInt64(count))
}
@inline(__always)
func _mm512_shuffle_epi8(_ a: __m512i, _ b: __m512i) -> __m512i {
    join(_mm256_shuffle_epi8(a.lowHalf, b.lowHalf), _mm256_shuffle_epi8(a.highHalf, b.highHalf))
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
        sums, join(_mm256_madd_epi16(a.lowHalf, b.lowHalf), _mm256_madd_epi16(a.highHalf, b.highHalf)))
}

// MARK: Constants, loads, conversions

@inline(__always) func _mm512_setzero_ps() -> __m512 { .zero }
@inline(__always) func _mm512_setzero_si512() -> __m512i { .zero }
@inline(__always) func _mm512_set1_ps(_ a: Float) -> __m512 { __m512(repeating: a) }
@inline(__always)
func _mm512_set1_epi8(_ a: Int8) -> __m512i { register(SIMD64<UInt8>(repeating: UInt8(bitPattern: a))) }
@inline(__always) func _mm512_set1_epi32(_ a: Int32) -> __m512i { register(SIMD16<Int32>(repeating: a)) }
@inline(__always) func _mm512_set1_epi64(_ a: Int64) -> __m512i { __m512i(repeating: a) }
@inline(__always)
func _mm512_set_epi64(
    _ h: Int64, _ g: Int64, _ f: Int64, _ e: Int64, _ d: Int64, _ c: Int64, _ b: Int64, _ a: Int64
) -> __m512i { __m512i(a, b, c, d, e, f, g, h) }
@inline(__always)
func _mm512_set_ps(
    _ p: Float, _ o: Float, _ n: Float, _ m: Float, _ l: Float, _ k: Float, _ j: Float, _ i: Float, _ h: Float,
    _ g: Float, _ f: Float, _ e: Float, _ d: Float, _ c: Float, _ b: Float, _ a: Float
) -> __m512 { __m512(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) }
@inline(__always)
func _mm512_loadu_ps(_ p: UnsafeRawPointer!) -> __m512 { p.loadUnaligned(as: __m512.self) }
@inline(__always)
func _mm512_maskz_loadu_ps(_ mask: __mmask16, _ p: UnsafeRawPointer!) -> __m512 {
    _mm512_mask_mov_ps(_mm512_setzero_ps(), mask, _mm512_loadu_ps(p))
}
@inline(__always)
func _mm512_storeu_ps(_ p: UnsafeMutableRawPointer!, _ a: __m512) {
    _mm256_storeu_ps(p.assumingMemoryBound(to: Float.self), a.lowHalf)
    _mm256_storeu_ps(p.assumingMemoryBound(to: Float.self) + 8, a.highHalf)
}
@inline(__always) func _mm512_broadcast_f32x8(_ a: __m256) -> __m512 { join(a, a) }
@inline(__always) func _mm512_castps512_ps256(_ a: __m512) -> __m256 { a.lowHalf }
@inline(__always) func _mm512_castsi512_si128(_ a: __m512i) -> __m128i { _mm256_castsi256_si128(a.lowHalf) }
@inline(__always) func _mm512_castps_si512(_ a: __m512) -> __m512i { unsafeBitCast(a, to: __m512i.self) }
@inline(__always) func _mm512_abs_ps(_ a: __m512) -> __m512 {
    unsafeBitCast(elements(_mm512_castps_si512(a)) & 0x7fff_ffff, to: __m512.self)
}
@inline(__always) func _mm512_castsi512_ps(_ a: __m512i) -> __m512 { unsafeBitCast(a, to: __m512.self) }
@inline(__always) func _mm512_cvtss_f32(_ a: __m512) -> Float { a[0] }
@inline(__always)
func _mm512_cvtepi32_ps(_ a: __m512i) -> __m512 { join(_mm256_cvtepi32_ps(a.lowHalf), _mm256_cvtepi32_ps(a.highHalf)) }
@inline(__always)
func _mm512_cvtps_epi32(_ a: __m512) -> __m512i { join(_mm256_cvtps_epi32(a.lowHalf), _mm256_cvtps_epi32(a.highHalf)) }
@inline(__always)
func _mm512_cvtph_ps(_ a: __m256i) -> __m512 {
    join(_mm256_cvtph_ps(_mm256_castsi256_si128(a)), _mm256_cvtph_ps(a.highHalf))
}
@inline(__always)
func _mm512_cvtepu16_epi32(_ a: __m256i) -> __m512i {
    join(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)), _mm256_cvtepu16_epi32(a.highHalf))
}
@inline(__always)
func _mm512_cvtepu8_epi32(_ a: __m128i) -> __m512i {
    join(_mm256_cvtepu8_epi32(a), _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(a, a)))
}
@inline(__always)
func _mm512_cvtepi8_epi32(_ a: __m128i) -> __m512i {
    join(_mm256_cvtepi8_epi32(a), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(a, a)))
}

/// The low byte of each number.
@inline(__always)
func _mm512_cvtepi32_epi16(_ a: __m512i) -> __m256i {
    unsafeBitCast(SIMD16<UInt16>(truncatingIfNeeded: elements(a)), to: __m256i.self)
}
func _mm512_cvtepi32_epi8(_ a: __m512i) -> __m128i {
    unsafeBitCast(SIMD16<UInt8>(truncatingIfNeeded: elements(a)), to: __m128i.self)
}

// MARK: Masks

/// Bit i is set if the numbers i have a common bit.
func _mm512_test_epi32_mask(_ a: __m512i, _ b: __m512i) -> __mmask16 {
    (0..<16).reduce(0) { $0 | (elements(a & b)[$1] != 0 ? 1 << __mmask16($1) : 0) }
}
private func isSet(_ mask: __mmask16) -> SIMDMask<SIMD16<Int32>> {
    var bits = SIMD16<Int32>.zero
    for index in 0..<16 { bits[index] = Int32(mask >> __mmask16(index)) & 1 }
    return bits .!= 0
}
/// `b` where the mask is set, else `a`.
func _mm512_mask_mov_ps(_ a: __m512, _ mask: __mmask16, _ b: __m512) -> __m512 {
    a.replacing(with: b, where: isSet(mask))
}
func _mm512_mask_mov_epi32(_ a: __m512i, _ mask: __mmask16, _ b: __m512i) -> __m512i {
    register(elements(a).replacing(with: elements(b), where: isSet(mask)))
}

// MARK: All lanes

/// Adds halves until one number is left, as the compiler does.
@inline(__always)
func _mm512_reduce_add_ps(_ a: __m512) -> Float {
    let eight = a.lowHalf + a.highHalf
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
func zero_below(_ x: __m512, _ low: __m512, _ value: __m512) -> __m512 {
    value.replacing(with: 0, where: x .< low)
}
@inline(__always)
func select_above(_ a: __m512, _ b: __m512, _ value: __m512, _ other: __m512) -> __m512 {
    other.replacing(with: value, where: a .> b)
}
@inline(__always)
func select_within(_ first: __m512i, _ end: __m512i, _ index: Int32, _ value: __m512, _ other: __m512) -> __m512 {
    other.replacing(with: value, where: (elements(first) .<= index) .& (elements(end) .> index))
}
@inline(__always) func join_halves(_ low: __m256, _ high: __m256) -> __m512 { join(low, high) }
@inline(__always) func upper_half(_ a: __m512) -> __m256 { a.highHalf }
