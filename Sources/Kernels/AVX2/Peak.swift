// Loops of multiplications and additions in registers, to measure the processor's peak speed.
//
// Twelve chains cover the latency of either instruction (4 to 6 cycles, two per cycle) and leave registers for the
// operands. The integer loops multiply their sums, so that the compiler cannot move the product out of the loop.

import CIntrinsics
import KernelFormats

/// Operations per round; a multiplication or an addition of one value counts as one.
public let floatOperationsOfRound = 12 * 8 * 2
public let wordOperationsOfRound = 12 * 16 * 2
public let byteOperationsOfRound = 12 * 32 * 2

/// `vfmadd231ps`. The result only keeps the loop from being optimized away.
@inline(never)
public func multiplyAddFloats(rounds: Int, _ factor: Float) -> Float {
    let (x, y) = (_mm256_set1_ps(factor), _mm256_set1_ps(factor))
    // Different initial values, so that the chains are not merged.
    @inline(__always) func start(_ value: Float) -> __m256 { _mm256_set1_ps(value) }
    var a = x, b = start(2), c = start(3), d = start(4), e = start(5), f = start(6)
    var g = start(7), h = start(8), i = start(9), j = start(10), k = start(11), l = start(12)
    for _ in 0..<rounds {
        a = _mm256_fmadd_ps(a, x, y)
        b = _mm256_fmadd_ps(b, x, y)
        c = _mm256_fmadd_ps(c, x, y)
        d = _mm256_fmadd_ps(d, x, y)
        e = _mm256_fmadd_ps(e, x, y)
        f = _mm256_fmadd_ps(f, x, y)
        g = _mm256_fmadd_ps(g, x, y)
        h = _mm256_fmadd_ps(h, x, y)
        i = _mm256_fmadd_ps(i, x, y)
        j = _mm256_fmadd_ps(j, x, y)
        k = _mm256_fmadd_ps(k, x, y)
        l = _mm256_fmadd_ps(l, x, y)
    }
    let low = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)), _mm256_add_ps(e, f))
    let high = _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(g, h), _mm256_add_ps(i, j)), _mm256_add_ps(k, l))
    return sumOfLanes(_mm256_add_ps(low, high))
}

/// `vpmaddwd`, then `vpaddd`.
@inline(never)
public func multiplyAddWords(rounds: Int, _ factor: Int16) -> Int32 {
    chains(rounds, _mm256_set1_epi16(factor)) { _mm256_add_epi32($0, _mm256_madd_epi16($0, $1)) }
}

/// `vpmaddubsw`, then `vpaddw`: products summed in 16 bits. Kernels also have to widen the sums to 32 bits.
@inline(never)
public func multiplyAddBytes(rounds: Int, _ factor: Int8) -> Int32 {
    chains(rounds, _mm256_set1_epi8(factor)) { _mm256_add_epi16($0, _mm256_maddubs_epi16($0, $1)) }
}

/// The sum of the 64-bit words in `bytes` bytes, a multiple of 256.
@inline(never)
public func readAll(_ memory: UnsafeRawPointer, bytes: Int) -> UInt64 {
    sumOfWords(SIMD4<UInt64>.self, memory, bytes: bytes)
}
