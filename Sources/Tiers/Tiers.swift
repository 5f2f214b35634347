package import Compute

/// The kernels of all kinds of processors. Each file here has those of one kind, `ofProcessor`.
extension KernelSet {
    /// The tiers that this processor supports, fastest last.
    package static let available = [portable] + ofProcessor

    package static let best = available[available.count - 1]
}

extension KernelTier {
    /// The tiers that this processor supports, fastest last.
    package static var available: [KernelTier] { KernelSet.available.map { $0.tier } }
}

#if !arch(x86_64) && !arch(arm64)
    extension KernelSet {
        static let ofProcessor: [KernelSet] = []
    }
#endif
