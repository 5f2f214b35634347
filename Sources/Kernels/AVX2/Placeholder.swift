// AVX2 kernels.
