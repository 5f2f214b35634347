// Loops of multiplications and additions in registers, to measure the processor's peak speed. Twelve chains, as in AVX2.

import CIntrinsics
import KernelFormats

/// Operations per round; a multiplication or an addition of one value counts as one.
public let floatOperationsOfRound = 12 * 16 * 2
public let wordOperationsOfRound = 12 * 32 * 2
public let byteOperationsOfRound = 12 * 64 * 2

/// `vfmadd231ps`. The result only keeps the loop from being optimized away.
@inline(never)
public func multiplyAddFloats(rounds: Int, _ factor: Float) -> Float {
    let x = _mm512_set1_ps(factor)
    // Different initial values, so that the chains are not merged.
    @inline(__always) func start(_ value: Float) -> __m512 { _mm512_set1_ps(value) }
    var a = x, b = start(2), c = start(3), d = start(4), e = start(5), f = start(6)
    var g = start(7), h = start(8), i = start(9), j = start(10), k = start(11), l = start(12)
    for _ in 0..<rounds {
        a = _mm512_fmadd_ps(a, x, x)
        b = _mm512_fmadd_ps(b, x, x)
        c = _mm512_fmadd_ps(c, x, x)
        d = _mm512_fmadd_ps(d, x, x)
        e = _mm512_fmadd_ps(e, x, x)
        f = _mm512_fmadd_ps(f, x, x)
        g = _mm512_fmadd_ps(g, x, x)
        h = _mm512_fmadd_ps(h, x, x)
        i = _mm512_fmadd_ps(i, x, x)
        j = _mm512_fmadd_ps(j, x, x)
        k = _mm512_fmadd_ps(k, x, x)
        l = _mm512_fmadd_ps(l, x, x)
    }
    let low = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)), _mm512_add_ps(e, f))
    let high = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(g, h), _mm512_add_ps(i, j)), _mm512_add_ps(k, l))
    return _mm512_reduce_add_ps(_mm512_add_ps(low, high))
}

/// `vpdpwssd`: two 16-bit products, added to a 32-bit sum.
@inline(never)
public func multiplyAddWords(rounds: Int, _ factor: Int32) -> Int32 {
    chains(rounds, factor) { _mm512_dpwssd_epi32($0, $0, $1) }
}

/// `vpdpbusd`: four 8-bit products, added to a 32-bit sum.
@inline(never)
public func multiplyAddBytes(rounds: Int, _ factor: Int32) -> Int32 {
    chains(rounds, factor) { _mm512_dpbusd_epi32($0, $0, $1) }
}

/// Chains start at 1 to 12; the sums are multiplied too, so that the compiler cannot move a product out of the loop.
@inline(__always)
private func chains(_ rounds: Int, _ factor: Int32, _ step: (__m512i, __m512i) -> __m512i) -> Int32 {
    let x = _mm512_set1_epi32(factor)
    @inline(__always) func start(_ value: Int32) -> __m512i { _mm512_set1_epi32(value) }
    var a = start(1), b = start(2), c = start(3), d = start(4), e = start(5), f = start(6)
    var g = start(7), h = start(8), i = start(9), j = start(10), k = start(11), l = start(12)
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
    let low = _mm512_xor_si512(_mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d)), _mm512_xor_si512(e, f))
    let high = _mm512_xor_si512(
        _mm512_xor_si512(_mm512_xor_si512(g, h), _mm512_xor_si512(i, j)), _mm512_xor_si512(k, l))
    return _mm_cvtsi128_si32(_mm512_castsi512_si128(_mm512_xor_si512(low, high)))
}

/// The sum of the 64-bit words in `bytes` bytes, a multiple of 256.
@inline(never)
public func readAll(_ memory: UnsafeRawPointer, bytes: Int) -> UInt64 {
    sumOfWords(SIMD8<UInt64>.self, memory, bytes: bytes)
}
