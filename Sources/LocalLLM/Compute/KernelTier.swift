/// Kernels for one kind of processor.
public enum KernelTier: String, CaseIterable, Sendable {
    /// Any machine that Swift runs on; prompts are multiplied by OpenBLAS.
    case portable
    /// x86-64 with AVX2, FMA and F16C: Intel since 2013, AMD since 2015.
    case avx2
    /// x86-64 with AVX-512 (F, BW, DQ, VL) and VNNI: Intel since Ice Lake, AMD since Zen 4.
    case avx512

    /// Those that this processor runs, the fastest last.
    public static var available: [KernelTier] { KernelSet.available.map(\.tier) }

    /// All of them, for the help of a program.
    package static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
