import CIntrinsics

/// Twelve chains of a step, a multiplication and an addition of integers, for loops that measure the processor's peak speed.
@inline(__always)
func chains(_ rounds: Int, _ x: __m256i, _ step: (__m256i, __m256i) -> __m256i) -> Int32 {
    var a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, l = x
    b = _mm256_add_epi8(a, x)
    c = _mm256_add_epi8(b, x)
    d = _mm256_add_epi8(c, x)
    e = _mm256_add_epi8(d, x)
    f = _mm256_add_epi8(e, x)
    g = _mm256_add_epi8(f, x)
    h = _mm256_add_epi8(g, x)
    i = _mm256_add_epi8(h, x)
    j = _mm256_add_epi8(i, x)
    k = _mm256_add_epi8(j, x)
    l = _mm256_add_epi8(k, x)
    for _ in 0..<rounds {
        a = step(a, x)
        b = step(b, x)
        c = step(c, x)
        d = step(d, x)
        e = step(e, x)
        f = step(f, x)
        g = step(g, x)
        h = step(h, x)
        i = step(i, x)
        j = step(j, x)
        k = step(k, x)
        l = step(l, x)
    }
    let low = _mm256_xor_si256(_mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d)), _mm256_xor_si256(e, f))
    let high = _mm256_xor_si256(
        _mm256_xor_si256(_mm256_xor_si256(g, h), _mm256_xor_si256(i, j)), _mm256_xor_si256(k, l))
    return _mm_cvtsi128_si32(_mm256_castsi256_si128(_mm256_xor_si256(low, high)))
}
