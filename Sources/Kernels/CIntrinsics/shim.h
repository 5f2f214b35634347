// Every Intel intrinsic as a Swift function. A module that calls one must be compiled for a
// processor that has it: see the kernel tiers in Package.swift.
#include <immintrin.h>

// What this processor and operating system can run. (A macro with inline assembly: not importable as it is.)
static inline int cpu_has_avx2_fma_f16c(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

// Tells the processor that this thread only waits. (`_mm_pause` is imported, but has no body to link.)
static inline void cpu_pause(void) { __builtin_ia32_pause(); }
