// Every Intel intrinsic as a Swift function. A module that calls one must be compiled for a
// processor that has it: see the kernel tiers in Package.swift.
#include <immintrin.h>
