/// The sixteen values of the 4-bit float E2M1 (sign, two bits of exponent, one of mantissa), doubled to make them
/// integers: 0, ½, 1, 1½, 2, 3, 4, 6 and their negatives.
public let doubledE2M1: SIMD16<Int8> = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]

/// Levels of the 4-bit codes of IQ4_NL and IQ4_XS (`kvalues_iq4nl` in ggml-common.h).
public let iq4Levels: SIMD16<Int8> = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
