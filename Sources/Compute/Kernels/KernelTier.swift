/// The instruction set of a set of kernels.
package enum KernelTier: String, CaseIterable, Sendable {
    /// Any machine that Swift supports.
    case portable
    /// x86-64 with AVX2, FMA and F16C: Intel since 2013, AMD since 2015.
    case avx2
    /// x86-64 with AVX2, FMA, F16C and AVX-VNNI: Intel's processors for desktops and laptops since Alder Lake (2021).
    case avxVNNI = "avxvnni"
    /// x86-64 with AVX-512 (F, BW, DQ, VL) and VNNI: Intel since Ice Lake, AMD since Zen 4.
    case avx512
    /// ARM64 with the dot product: Cortex-A76 and Neoverse N1 (2018) and later, Apple M1 and later.
    case neon
    /// ARM64 with int8 and bf16 matrix multiply besides: Neoverse V1 and N2, Cortex-A510 and later, Apple M2 and later.
    case neonMatrix

    /// Names of all tiers, for a program's help text.
    package static var names: String { allCases.map { $0.rawValue }.joined(separator: ", ") }
}
