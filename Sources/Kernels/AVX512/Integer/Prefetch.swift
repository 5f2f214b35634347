// Prefetching weights.

import CIntrinsics

/// Bytes from the weights that are multiplied to those that are prefetched. They go to the L2 cache, since the L1 cache can
/// have too few misses outstanding for two to four tokens. The hardware prefetcher stops at page borders, and restarts with
/// each block of rows that a thread takes; prefetching gains a third of the decode speed.
@inline(__always) var bytesAhead: Int { 3456 }

extension PackedFormat {
    /// `bytesAhead` for a single token, which is multiplied faster than several and needs its weights earlier.
    @inline(__always) static var bytesAheadOfOneToken: Int {
        // Near on Zen 4: at 544 bytes per 32 columns its hardware prefetcher keeps up with the loop, and prefetches farther ahead
        // disturb it.
        Self.self == PackedQ8_0.self && cpu_is_amd_family_19h() != 0 ? 1088 : 6912
    }
}

@inline(__always)
func prefetchLines(_ weights: UnsafeRawPointer, _ count: Int, toL1: Bool = false) {
    var line = weights
    let end = weights + count
    while line < end {
        if toL1 { prefetch(line) } else { prefetch_to_l2(line) }
        line += 64
    }
}
