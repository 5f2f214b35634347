import Compute
import KernelFormats

/// Microsoft's Phi.
extension Family {
    static let phis: [String: Family] = [
        "phi2": Family(norm: .layer, feedForwardNorm: nil, isParallel: true, activation: .gelu, isGated: false),
        "phi3": Family(),
        // Files have LayerNorm's epsilon under RMS norm's key.
        "phimoe": Family(norm: .layer, experts: .init(gating: .sparseMixer, normalizesWeights: .declared)),
    ]
}
