import CIntrinsics

/// Whether this processor and operating system have the instructions of these kernels.
public func isSupported() -> Bool { cpu_has_avx_vnni() != 0 }

/// Whether the registers hold the sums of two groups of 16 rows by six columns. Those of one are twelve of sixteen registers.
@inline(__always) var fitsTwoGroups: Bool { false }

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
    join(
        _mm256_dpwssd_avx_epi32(low(sums), low(a), low(b)),
        _mm256_dpwssd_avx_epi32(high(sums), high(a), high(b)))
}

/// `vpdpbusd`, to measure the processor's peak speed: as many operations per round as AVX2's loop. The result only keeps the
/// loop from being optimized away.
@inline(never)
public func multiplyAddBytes(rounds: Int, _ factor: Int8) -> Int32 {
    chains(rounds, _mm256_set1_epi8(factor)) { _mm256_dpbusd_avx_epi32($0, $0, $1) }
}
