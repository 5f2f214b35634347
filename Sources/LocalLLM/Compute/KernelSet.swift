import KernelsPortable

#if arch(x86_64)
    import CIntrinsics
#endif

/// The kernels of one kind of processor. Every tier beyond `portable` is tested against it.
struct KernelSet: Sendable {
    enum Tier: String, CaseIterable, Sendable {
        /// Any machine that Swift runs on.
        case portable
    }

    let tier: Tier
    let rmsNorm: @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Float, UnsafeMutablePointer<Float>, Int) -> Void
    let swiGLU: @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int) -> Void
    let attendPage:
        @Sendable (
            UnsafePointer<UnsafePointer<Float>>, UnsafePointer<UnsafeMutablePointer<Float>>, UnsafePointer<Int32>,
            UnsafePointer<Int32>, Int, UnsafePointer<UInt16>, UnsafePointer<UInt16>, Int, Int,
            UnsafeMutablePointer<Float>, UnsafeMutablePointer<Float>, UnsafeMutablePointer<Float>
        ) -> Void

    static let portable = KernelSet(
        tier: .portable,
        rmsNorm: { KernelsPortable.rmsNorm($0, weight: $1, epsilon: $2, into: $3, count: $4) },
        swiGLU: { KernelsPortable.swiGLU($0, $1, into: $2, count: $3) },
        attendPage: {
            KernelsPortable.attendPage(
                queries: $0, outputs: $1, first: $2, end: $3, rows: $4, keys: $5, values: $6, keyWidth: $7,
                valueWidth: $8, maxima: $9, sums: $10, scratch: $11)
        })

    /// The fastest that this processor runs.
    static let best: KernelSet = portable
}

extension KernelSet: CustomStringConvertible {
    var description: String {
        switch tier {
        case .portable: "portable, OpenBLAS for prompts"
        }
    }
}
