// Converts a KV cache page to floats, for attention; see `KernelsPortable.widenHalves` and `widenBytes`.
//
// A page is read once, sequentially, but the next page of the head is elsewhere in memory: it is prefetched here, line
// by line, while this page is converted.

import CIntrinsics
public import KernelFormats

/// As `KernelsPortable.widenHalves`.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenHalves(
    _ page: UnsafeRawPointer, keyWidth: Int, valueWidth: Int, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    let count = BytePage.tokens &* (keyWidth &+ valueWidth)
    var i = 0
    while i < count {
        let halves = page + 2 &* i
        prefetch(next + 2 &* i)
        store4(
            destination + i, loadHalves(halves), loadHalves(halves + 16), loadHalves(halves + 32),
            loadHalves(halves + 48))
        i &+= 32
    }
}

/// As `KernelsPortable.widenBytes`, for value widths that are multiples of 8.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenBytes(
    _ page: UnsafeRawPointer, _ layout: BytePage, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    var scales = layout.keyScales
    var d = 0
    while d < layout.keyWidth {
        let end = min(d &+ BytePage.group, layout.keyWidth)
        prefetch(next + scales)
        let (s0, s1) = (loadHalves(page + scales), loadHalves(page + (scales &+ 16)))
        let (s2, s3) = (loadHalves(page + (scales &+ 32)), loadHalves(page + (scales &+ 48)))
        while d < end {
            prefetch(next + 32 &* d)
            widen32(page + 32 &* d, destination + 32 &* d, s0, s1, s2, s3)
            d &+= 1
        }
        scales &+= 64
    }
    var values = layout.values
    var out = destination + 32 &* layout.keyWidth
    scales = layout.valueScales
    for _ in 0..<BytePage.tokens {
        prefetch(next + scales)
        d = 0
        while d < layout.valueWidth {
            prefetch(next + values)
            let scale = Floats(repeating: half(page + scales))
            scales &+= 2
            if d &+ 32 <= layout.valueWidth {
                widen32(page + values, out, scale, scale, scale, scale)
                (d, values, out) = (d &+ 32, values &+ 32, out + 32)
                continue
            }
            while d < layout.valueWidth {
                let eight = (page + values).loadUnaligned(as: SIMD8<Int8>.self)
                store(halves(floats_of_signed_bytes(vcombine_s8(eight, eight))).low * scale, out)
                (d, values, out) = (d &+ 8, values &+ 8, out + 8)
            }
        }
    }
}

@inline(__always)
private func widen32(
    _ codes: UnsafeRawPointer, _ out: UnsafeMutablePointer<Float>, _ s0: Floats, _ s1: Floats, _ s2: Floats,
    _ s3: Floats
) {
    let (a, b) = halves(floats_of_signed_bytes(codes.loadUnaligned(as: SIMD16<Int8>.self)))
    let (c, d) = halves(floats_of_signed_bytes((codes + 16).loadUnaligned(as: SIMD16<Int8>.self)))
    store4(out, a * s0, b * s1, c * s2, d * s3)
}
