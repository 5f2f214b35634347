#include <cpuid.h>
#include <immintrin.h>

// What this processor and operating system can run. (A macro with inline assembly: not importable as it is.)
// F16C is read from leaf 1 of CPUID, since the compiler of Swift 6.0 does not know its name.
static inline int cpu_has_avx2_fma_f16c(void) {
  unsigned eax, ebx, ecx, edx;
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) &&
         (ecx & bit_F16C);
}

// The compiler of Swift 6.0 does not know the name of AVX-VNNI either.
static inline int cpu_has_avx_vnni(void) {
  unsigned eax, ebx, ecx, edx;
  return cpu_has_avx2_fma_f16c() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & 1 << 4);
}

static inline int cpu_has_avx512_vnni(void) {
  __builtin_cpu_init();
  return cpu_has_avx2_fma_f16c() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

// Whether this is a processor of AMD's family 19h. Those of them that have AVX-512 are Zen 4.
static inline int cpu_is_amd_family_19h(void) {
  __builtin_cpu_init();
  return __builtin_cpu_is("amdfam19h");
}

// Tells the processor that this thread only waits. (`_mm_pause` is imported, but has no body to link.)
static inline void cpu_pause(void) { __builtin_ia32_pause(); }

// Intrinsics that are macros, because an operand is part of the instruction, are not imported.
#define AVX2_FUNCTION static inline __attribute__((always_inline, target("avx2,fma,f16c")))
AVX2_FUNCTION __m256 join_lower_lanes(__m256 a, __m256 b) { return _mm256_permute2f128_ps(a, b, 0x20); }
AVX2_FUNCTION __m256 join_upper_lanes(__m256 a, __m256 b) { return _mm256_permute2f128_ps(a, b, 0x31); }
AVX2_FUNCTION __m128 upper_lane(__m256 a) { return _mm256_extractf128_ps(a, 1); }
AVX2_FUNCTION __m128i nearest_halves(__m256 a) { return _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }
AVX2_FUNCTION __m256 round_to_nearest(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
AVX2_FUNCTION __m256i exponent_of_two(__m256i n) { return _mm256_slli_epi32(n, 23); }
AVX2_FUNCTION __m256 is_not_below(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
AVX2_FUNCTION __m256 is_below(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
AVX2_FUNCTION __m128i upper_lane_of_integers(__m256i a) { return _mm256_extracti128_si256(a, 1); }
AVX2_FUNCTION __m256 is_unordered(__m256 a, __m256 b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }

#define AVX512_FUNCTION static inline __attribute__((always_inline, target("avx512f")))
// `value` where `x` is at least `low` or not a number, else 0.
AVX512_FUNCTION __m512 zero_below(__m512 x, __m512 low, __m512 value) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, low, _CMP_NLT_UQ), value);
}
// `value` in the lanes with `a` > `b`, else `other`.
AVX512_FUNCTION __m512 select_above(__m512 a, __m512 b, __m512 value, __m512 other) {
  return _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), value);
}
// `value` in the lanes with `first` <= `index` < `end`, else `other`.
AVX512_FUNCTION __m512 select_within(__m512i first, __m512i end, int index, __m512 value, __m512 other) {
  __m512i i = _mm512_set1_epi32(index);
  return _mm512_mask_mov_ps(other, _mm512_cmple_epi32_mask(first, i) & _mm512_cmplt_epi32_mask(i, end), value);
}

// `vpdpwssd`, for which the compiler sometimes takes a multiplication and an addition.
#define AVX512VNNI_FUNCTION static inline __attribute__((always_inline, target("avx512f,avx512vnni")))
AVX512VNNI_FUNCTION __m512i add_products_of_words(__m512i sums, __m512i a, __m512i b) {
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
  return sums;
}

#define AVX512DQ_FUNCTION static inline __attribute__((always_inline, target("avx512f,avx512dq")))
AVX512DQ_FUNCTION __m512 join_halves(__m256 low, __m256 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
AVX512DQ_FUNCTION __m256 upper_half(__m512 a) { return _mm512_extractf32x8_ps(a, 1); }

// The same value, but the compiler cannot know: it keeps the order of the sums that go through here.
AVX2_FUNCTION __m256i in_order(__m256i a) { __asm__("" : "+x"(a)); return a; }
AVX512_FUNCTION __m512i in_order_wide(__m512i a) { __asm__("" : "+v"(a)); return a; }
// The same pointer, but the compiler cannot know: it reads from memory again instead of keeping values in registers.
static inline __attribute__((always_inline)) const void *to_read_again(const void *p) { __asm__("" : "+r"(p)); return p; }
// Loads behind it are not moved before it, where they would keep registers busy.
static inline __attribute__((always_inline)) void loads_stay_behind(void) { __asm__ volatile("" ::: "memory"); }
// The same value, computed here and not later.
AVX512_FUNCTION __m512 at_once(__m512 a) { __asm__ volatile("" : "+v"(a)); return a; }

#include "results512.h"
