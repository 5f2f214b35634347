// Prefetching weights.

import CIntrinsics

/// Prefetches the data one page ahead of the current weights. The hardware prefetcher stops at page borders, and
/// restarts with each block of rows that a thread takes; this gains a third of the decode speed.
@inline(__always)
func prefetchLines(_ weights: UnsafeRawPointer, _ count: Int) {
    var ahead = 4608
    while ahead < 4608 &+ count {
        prefetch(weights + ahead)
        ahead &+= 64
    }
}
