// Every intrinsic of the processor as a Swift function. A module that calls one must be compiled for a
// processor that has it: see the kernel tiers in Package.swift.
#if defined(__x86_64__)
#include "x86-64.h"
#elif defined(__aarch64__)
#include "arm64.h"
#else
static inline void cpu_pause(void) {}
#endif

// Asks for the cache line at `p`, which need not be readable memory.
static inline void prefetch(const void *p) { __builtin_prefetch(p, 0, 3); }

// The same, into the L2 cache, which can have more misses outstanding than the L1 cache.
static inline void prefetch_to_l2(const void *p) { __builtin_prefetch(p, 0, 2); }

// Whether weights for this many tokens are prefetched to the L2 cache and then, nearer, to the L1 cache: for one token on
// Intel's processors. With several tokens this was slower; other processors have not been measured.
static inline int prefetches_twice(long tokens) {
#if defined(__x86_64__)
  if (tokens != 1) return 0;
  __builtin_cpu_init();
  return __builtin_cpu_is("intel");
#else
  return 0;
#endif
}

// Asks for cache lines that will be written: of `rows` rows, `stride` floats apart, 16 floats `groups` times.
static inline void prefetch_to_write(const float *p, long rows, long stride, long groups) {
  for (long row = 0; row < rows; row++)
    for (long group = 0; group < groups; group++) __builtin_prefetch(p + row * stride + 16 * group, 1, 3);
}
