// Converts a KV cache page of halves to floats; see `KernelsAVX2.widenHalves`.

import CIntrinsics
import KernelFormats

/// As `KernelsPortable.widenHalves`.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenHalves(
    _ page: UnsafeRawPointer, keyWidth: Int, valueWidth: Int, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    let count = pageTokens &* (keyWidth &+ valueWidth)
    var i = 0
    while i < count {
        let halves = page + 2 &* i
        prefetch_to_l2(next + 2 &* i)
        _mm512_storeu_ps(destination + i, HalfNumbers.load(halves))
        _mm512_storeu_ps(destination + (i &+ 16), HalfNumbers.load(halves + HalfNumbers.bytes))
        i &+= 32
    }
}
