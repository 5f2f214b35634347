import KernelFormats

/// Microsoft's Phi.
extension Family {
    static let phis: [String: Family] = [
        "phi2": Family(norm: .layer, feedForwardNorm: nil, isParallel: true, activation: .gelu, isGated: false),
        "phi3": Family(),
        "phimoe": Family(experts: .init()),
    ]
}
