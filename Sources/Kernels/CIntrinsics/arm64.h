#include <arm_neon.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#else
#include <sys/auxv.h>
#endif

// What this processor and operating system can run. The numbers are those of Linux (asm/hwcap.h).
#if defined(__APPLE__)
static inline int cpu_feature(const char *name) {
  int value = 0;
  size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, 0, 0) == 0 && value != 0;
}
static inline int cpu_has_dotprod(void) { return cpu_feature("hw.optional.arm.FEAT_DotProd"); }
static inline int cpu_has_matrix_multiply(void) {
  return cpu_has_dotprod() && cpu_feature("hw.optional.arm.FEAT_I8MM") && cpu_feature("hw.optional.arm.FEAT_BF16");
}
#else
static inline int cpu_has_dotprod(void) { return (getauxval(AT_HWCAP) >> 20) & 1; }
static inline int cpu_has_matrix_multiply(void) {
  return cpu_has_dotprod() && ((getauxval(AT_HWCAP2) >> 13) & (getauxval(AT_HWCAP2) >> 14) & 1);
}
#endif

// Tells the processor that this thread only waits.
static inline void cpu_pause(void) { __asm__ volatile("isb" ::: "memory"); }

// Registers side by side, which Swift knows as `SIMD8<Float>` and so on. Swift's operators on them become instructions.
typedef float floats8 __attribute__((ext_vector_type(8)));
typedef float floats16 __attribute__((ext_vector_type(16)));
typedef int32_t ints8 __attribute__((ext_vector_type(8)));
typedef int32_t ints16 __attribute__((ext_vector_type(16)));
typedef uint16_t halves8 __attribute__((ext_vector_type(8)));
typedef uint16_t halves16 __attribute__((ext_vector_type(16)));
typedef uint8_t bytes64 __attribute__((ext_vector_type(64)));

#define NEON_FUNCTION static inline __attribute__((always_inline))
#define REGISTER_OF_4(v, i) __builtin_shufflevector(v, v, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3)
#define JOIN_2_OF_4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
#define JOIN_2_OF_8(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define JOIN_4_OF_4(a, b, c, d) JOIN_2_OF_8(JOIN_2_OF_4(a, b), JOIN_2_OF_4(c, d))

// a · b + c, rounded once.
NEON_FUNCTION floats8 multiply_add(floats8 a, floats8 b, floats8 c) {
  return JOIN_2_OF_4(vfmaq_f32(REGISTER_OF_4(c, 0), REGISTER_OF_4(a, 0), REGISTER_OF_4(b, 0)),
                     vfmaq_f32(REGISTER_OF_4(c, 1), REGISTER_OF_4(a, 1), REGISTER_OF_4(b, 1)));
}
NEON_FUNCTION floats16 multiply_add16(floats16 a, floats16 b, floats16 c) {
  return JOIN_4_OF_4(vfmaq_f32(REGISTER_OF_4(c, 0), REGISTER_OF_4(a, 0), REGISTER_OF_4(b, 0)),
                     vfmaq_f32(REGISTER_OF_4(c, 1), REGISTER_OF_4(a, 1), REGISTER_OF_4(b, 1)),
                     vfmaq_f32(REGISTER_OF_4(c, 2), REGISTER_OF_4(a, 2), REGISTER_OF_4(b, 2)),
                     vfmaq_f32(REGISTER_OF_4(c, 3), REGISTER_OF_4(a, 3), REGISTER_OF_4(b, 3)));
}

// NaN if one of the two is.
NEON_FUNCTION floats8 minimum_of(floats8 a, floats8 b) {
  return JOIN_2_OF_4(vminq_f32(REGISTER_OF_4(a, 0), REGISTER_OF_4(b, 0)),
                     vminq_f32(REGISTER_OF_4(a, 1), REGISTER_OF_4(b, 1)));
}
NEON_FUNCTION floats8 maximum_of(floats8 a, floats8 b) {
  return JOIN_2_OF_4(vmaxq_f32(REGISTER_OF_4(a, 0), REGISTER_OF_4(b, 0)),
                     vmaxq_f32(REGISTER_OF_4(a, 1), REGISTER_OF_4(b, 1)));
}
NEON_FUNCTION floats8 magnitudes(floats8 a) {
  return JOIN_2_OF_4(vabsq_f32(REGISTER_OF_4(a, 0)), vabsq_f32(REGISTER_OF_4(a, 1)));
}
NEON_FUNCTION float largest_of(floats8 a) { return vmaxvq_f32(vmaxq_f32(REGISTER_OF_4(a, 0), REGISTER_OF_4(a, 1))); }

// The lanes of each of four registers, added as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
NEON_FUNCTION float32x4_t lane_sums(floats8 a, floats8 b, floats8 c, floats8 d) {
  return vaddq_f32(vpaddq_f32(vpaddq_f32(REGISTER_OF_4(a, 0), REGISTER_OF_4(b, 0)),
                              vpaddq_f32(REGISTER_OF_4(c, 0), REGISTER_OF_4(d, 0))),
                   vpaddq_f32(vpaddq_f32(REGISTER_OF_4(a, 1), REGISTER_OF_4(b, 1)),
                              vpaddq_f32(REGISTER_OF_4(c, 1), REGISTER_OF_4(d, 1))));
}

// `value` where `x` is at least `low` or not a number, else 0.
NEON_FUNCTION floats8 zero_below(floats8 x, floats8 low, floats8 value) { return x < low ? (floats8)0 : value; }

// Ties to even.
NEON_FUNCTION floats8 round_to_nearest(floats8 a) {
  return JOIN_2_OF_4(vrndnq_f32(REGISTER_OF_4(a, 0)), vrndnq_f32(REGISTER_OF_4(a, 1)));
}
NEON_FUNCTION ints8 nearest_ints(floats8 a) {
  return JOIN_2_OF_4(vcvtnq_s32_f32(REGISTER_OF_4(a, 0)), vcvtnq_s32_f32(REGISTER_OF_4(a, 1)));
}
NEON_FUNCTION floats8 floats_of_ints(ints8 a) { return __builtin_convertvector(a, floats8); }
NEON_FUNCTION floats16 floats_of_ints16(ints16 a) { return __builtin_convertvector(a, floats16); }
NEON_FUNCTION floats8 floats_of_halves(halves8 a) {
  float16x8_t halves = vreinterpretq_f16_u16(a);
  return JOIN_2_OF_4(vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves));
}
NEON_FUNCTION floats16 floats_of_halves16(halves16 a) {
  return JOIN_2_OF_8(floats_of_halves(__builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7)),
                     floats_of_halves(__builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15)));
}
NEON_FUNCTION floats8 floats_of_bfloats(halves8 a) {
  return JOIN_2_OF_4(vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(a), 16)),
                     vreinterpretq_f32_u32(vshll_high_n_u16(a, 16)));
}

NEON_FUNCTION halves16 halves_of_bytes(uint8x16_t a) { return JOIN_2_OF_8(vmovl_u8(vget_low_u8(a)), vmovl_high_u8(a)); }
// 2^(e - 127), by shifting e to the exponent bits. e = 0 must be clamped, since these bits would be zero.
NEON_FUNCTION float32x4_t power_of_two(uint16x4_t e) {
  return vreinterpretq_f32_u32(vmaxq_u32(vshlq_n_u32(vmovl_u16(e), 23), vdupq_n_u32(0x00400000)));
}
NEON_FUNCTION floats16 powers_of_two(uint8x16_t e) {
  uint16x8_t low = vmovl_u8(vget_low_u8(e)), high = vmovl_high_u8(e);
  return JOIN_4_OF_4(power_of_two(vget_low_u16(low)), power_of_two(vget_high_u16(low)),
                     power_of_two(vget_low_u16(high)), power_of_two(vget_high_u16(high)));
}

// Sixteen bytes as floats.
NEON_FUNCTION floats16 floats_of_bytes(uint8x16_t a) {
  uint16x8_t low = vmovl_u8(vget_low_u8(a)), high = vmovl_high_u8(a);
  return JOIN_4_OF_4(vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))), vcvtq_f32_u32(vmovl_high_u16(low)),
                     vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))), vcvtq_f32_u32(vmovl_high_u16(high)));
}
NEON_FUNCTION floats16 floats_of_signed_bytes(int8x16_t a) {
  int16x8_t low = vmovl_s8(vget_low_s8(a)), high = vmovl_high_s8(a);
  return JOIN_4_OF_4(vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
                     vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high)));
}
// Eight integers to bytes, saturated.
NEON_FUNCTION int8x8_t bytes_of_ints(ints8 a) {
  return vqmovn_s16(vcombine_s16(vqmovn_s32(REGISTER_OF_4(a, 0)), vqmovn_s32(REGISTER_OF_4(a, 1))));
}

#define REGISTER_OF_BYTES(v, i)                                                                                    \
  __builtin_shufflevector(v, v, 16 * i, 16 * i + 1, 16 * i + 2, 16 * i + 3, 16 * i + 4, 16 * i + 5, 16 * i + 6,     \
                          16 * i + 7, 16 * i + 8, 16 * i + 9, 16 * i + 10, 16 * i + 11, 16 * i + 12, 16 * i + 13,   \
                          16 * i + 14, 16 * i + 15)
#define JOIN_2_OF_16(a, b)                                                                                         \
  __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,   \
                          23, 24, 25, 26, 27, 28, 29, 30, 31)
#define JOIN_2_OF_32(a, b)                                                                                         \
  __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,   \
                          23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,   \
                          45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63)

// `table[code]` for each of 64 codes.
NEON_FUNCTION bytes64 look_up(uint8x16_t table, bytes64 codes) {
  return JOIN_2_OF_32(JOIN_2_OF_16(vqtbl1q_u8(table, REGISTER_OF_BYTES(codes, 0)),
                                   vqtbl1q_u8(table, REGISTER_OF_BYTES(codes, 1))),
                      JOIN_2_OF_16(vqtbl1q_u8(table, REGISTER_OF_BYTES(codes, 2)),
                                   vqtbl1q_u8(table, REGISTER_OF_BYTES(codes, 3))));
}

// 16 sums of four products each, of 64 codes and four activations: lane 0, 1, 2 or 3 of `x`.
#define DOT_FUNCTION static inline __attribute__((always_inline, target("dotprod")))
#define REGISTER_OF_CODES(w, i) vreinterpretq_s8_u8(REGISTER_OF_BYTES(w, i))
#define DOT(LANE)                                                                                                  \
  DOT_FUNCTION ints16 dot_lane##LANE(ints16 sums, bytes64 w, int8x16_t x) {                                        \
    return JOIN_4_OF_4(vdotq_laneq_s32(REGISTER_OF_4(sums, 0), REGISTER_OF_CODES(w, 0), x, LANE),                  \
                       vdotq_laneq_s32(REGISTER_OF_4(sums, 1), REGISTER_OF_CODES(w, 1), x, LANE),                  \
                       vdotq_laneq_s32(REGISTER_OF_4(sums, 2), REGISTER_OF_CODES(w, 2), x, LANE),                  \
                       vdotq_laneq_s32(REGISTER_OF_4(sums, 3), REGISTER_OF_CODES(w, 3), x, LANE));                 \
  }
DOT(0)
DOT(1)
DOT(2)
DOT(3)

// bfloat16 numbers as their bits, which Swift has no type for.
#define BF16_FUNCTION static inline __attribute__((always_inline, target("bf16")))
// Four floats as the sums of two bfloat16 numbers: in the first four lanes the nearest, then the nearest of the rest.
BF16_FUNCTION uint16x8_t split_floats(float32x4_t x) {
  bfloat16x4_t first = vcvt_bf16_f32(x);
  bfloat16x4_t second = vcvt_bf16_f32(vsubq_f32(x, vcvt_f32_bf16(first)));
  return vcombine_u16(vreinterpret_u16_bf16(first), vreinterpret_u16_bf16(second));
}
// Adds the products of two rows of four numbers by two columns of four: `bfmmla`.
BF16_FUNCTION float32x4_t multiply_bfloats(float32x4_t sums, uint16x8_t rows, uint16x8_t columns) {
  return vbfmmlaq_f32(sums, vreinterpretq_bf16_u16(rows), vreinterpretq_bf16_u16(columns));
}
