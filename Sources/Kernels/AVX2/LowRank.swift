public import KernelFormats
import KernelsFloat

/// As `KernelsPortable.addLowRank`, with fused multiply-adds.
@inline(never)
public func addLowRank(_ product: LowRankProduct) { addLowRank(VectorPair<EightFloats>.self, product) }
