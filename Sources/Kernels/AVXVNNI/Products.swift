import CIntrinsics
import KernelsFloat

/// Whether this processor and operating system have the instructions of these kernels.
public func isSupported() -> Bool { cpu_has_avx_vnni() != 0 }

/// Whether the registers hold the sums of two groups of 16 rows by six columns. Those of one are twelve of sixteen registers.
@inline(__always) var fitsTwoGroups: Bool { false }

/// Eight floats in a register, as in AVX2, without what only quantizing needs.
struct EightFloats: BlockVector {
    typealias Codes = SixteenBytes
    let v: __m256

    @inline(__always) init(_ v: __m256) { self.v = v }
}

/// Adds to each sum four products of unsigned bytes of `a` and signed ones of `b`.
@inline(__always)
func _mm512_dpbusd_epi32(_ sums: __m512i, _ a: __m512i, _ b: __m512i) -> __m512i {
    join(
        _mm256_dpbusd_avx_epi32(low(sums), low(a), low(b)),
        _mm256_dpbusd_avx_epi32(high(sums), high(a), high(b)))
}

/// Adds to each sum two products of signed words.
@inline(__always)
func add_products_of_words(_ sums: __m512i, _ a: __m512i, _ b: __m512i) -> __m512i {
    join(add_products_of_words(low(sums), low(a), low(b)), add_products_of_words(high(sums), high(a), high(b)))
}
@inline(__always)
func add_products_of_words(_ sums: __m256i, _ a: __m256i, _ b: __m256i) -> __m256i {
    _mm256_dpwssd_avx_epi32(sums, a, b)
}

// Loops to measure the processor's peak speed: as many operations per round as AVX2's. Their results only keep them from being
// optimized away.

/// `vpdpbusd`.
@inline(never)
public func multiplyAddBytes(rounds: Int, _ factor: Int8) -> Int32 {
    chains(rounds, _mm256_set1_epi8(factor)) { _mm256_dpbusd_avx_epi32($0, $0, $1) }
}

/// `vpdpwssd`.
@inline(never)
public func multiplyAddWords(rounds: Int, _ factor: Int16) -> Int32 {
    chains(rounds, _mm256_set1_epi16(factor)) { add_products_of_words($0, $0, $1) }
}
