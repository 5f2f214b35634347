// Prefetching weights.

import CIntrinsics

/// Prefetches the data some pages ahead of the current weights. The hardware prefetcher stops at page borders, and
/// restarts with each block of rows that a thread takes; this makes decoding more than a third faster.
///
/// - Parameters:
///   - count: Bytes; best a constant, which unrolls the loop.
///   - ahead: Bytes ahead.
///   - aheadInL1: If not `nil`, data is prefetched to the L2 cache, and this many bytes ahead from there to the L1 cache.
@inline(__always)
func prefetchLines(_ weights: UnsafeRawPointer, _ count: Int, ahead: Int = 9216, aheadInL1: Int? = nil) {
    for line in 0..<(count &+ 63) / 64 {
        let weights = weights + 64 &* line
        if let aheadInL1 {
            prefetch_to_l2(weights + ahead)
            prefetch(weights + aheadInL1)
        } else {
            prefetch(weights + ahead)
        }
    }
}
