// Converts a KV cache page to floats, for attention; see `KernelsPortable.widenHalves` and `widenQuantized`.
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
    let count = QuantizedPage.tokens &* (keyWidth &+ valueWidth)
    var i = 0
    while i < count {
        let halves = page + 2 &* i
        prefetch_to_l2(next + 2 &* i)
        store4(
            destination + i, loadHalves(halves), loadHalves(halves + 16), loadHalves(halves + 32),
            loadHalves(halves + 48))
        i &+= 32
    }
}

/// As `KernelsPortable.widenQuantized`, for value widths that are multiples of 8.
///
/// - Parameter next: The page to prefetch.
@inline(never)
public func widenQuantized(
    _ page: UnsafeRawPointer, _ layout: QuantizedPage, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    switch layout.codes {
    case .bytes: widen(page, layout, into: destination, next: next, ByteCodes())
    case .nibbles: widen(page, layout, into: destination, next: next, NibbleCodes())
    }
}

/// Reads the codes of a page as signed bytes, the multiples of their scales.
private protocol CodeReader {
    func read32(_ p: UnsafeRawPointer) -> (SIMD16<Int8>, SIMD16<Int8>)
    func read8(_ p: UnsafeRawPointer) -> SIMD8<Int8>
}

private struct ByteCodes: CodeReader {
    @inline(__always)
    func read32(_ p: UnsafeRawPointer) -> (SIMD16<Int8>, SIMD16<Int8>) {
        (p.loadUnaligned(as: SIMD16<Int8>.self), (p + 16).loadUnaligned(as: SIMD16<Int8>.self))
    }
    @inline(__always)
    func read8(_ p: UnsafeRawPointer) -> SIMD8<Int8> { p.loadUnaligned(as: SIMD8<Int8>.self) }
}

private struct NibbleCodes: CodeReader {
    @inline(__always)
    func read32(_ p: UnsafeRawPointer) -> (SIMD16<Int8>, SIMD16<Int8>) {
        // Of each byte the low nibble, then the high one.
        let bytes = p.loadUnaligned(as: SIMD16<UInt8>.self)
        let low = vqtbl1q_s8(iq4Levels, bytes & 15), high = vqtbl1q_s8(iq4Levels, bytes &>> 4)
        return (vzip1q_s8(low, high), vzip2q_s8(low, high))
    }
    @inline(__always)
    func read8(_ p: UnsafeRawPointer) -> SIMD8<Int8> {
        let four = p.loadUnaligned(as: SIMD4<UInt8>.self)
        var codes = SIMD8<UInt8>()
        codes.evenHalf = four & 15
        codes.oddHalf = four &>> 4
        return vqtbl1_s8(iq4Levels, codes)
    }
}

@inline(__always)
private func widen<Reader: CodeReader>(
    _ page: UnsafeRawPointer, _ layout: QuantizedPage, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer, _ reader: Reader
) {
    let codesOfGroup = layout.keyRow
    var scales = layout.keyScales
    var d = 0
    while d < layout.keyWidth {
        let end = min(d &+ QuantizedPage.group, layout.keyWidth)
        prefetch_to_l2(next + scales)
        let (s0, s1) = (loadHalves(page + scales), loadHalves(page + (scales &+ 16)))
        let (s2, s3) = (loadHalves(page + (scales &+ 32)), loadHalves(page + (scales &+ 48)))
        while d < end {
            let codes = d &* codesOfGroup
            prefetch_to_l2(next + codes)
            widen32(reader.read32(page + codes), destination + 32 &* d, s0, s1, s2, s3)
            d &+= 1
        }
        scales &+= 64
    }
    var values = layout.values
    var out = destination + 32 &* layout.keyWidth
    scales = layout.valueScales
    for _ in 0..<QuantizedPage.tokens {
        prefetch_to_l2(next + scales)
        d = 0
        while d < layout.valueWidth {
            prefetch_to_l2(next + values)
            let scale = Floats(repeating: half(page + scales))
            scales &+= 2
            if d &+ 32 <= layout.valueWidth {
                widen32(reader.read32(page + values), out, scale, scale, scale, scale)
                (d, values, out) = (d &+ 32, values &+ codesOfGroup, out + 32)
                continue
            }
            while d < layout.valueWidth {
                let eight = reader.read8(page + values)
                store(halves(floats_of_signed_bytes(vcombine_s8(eight, eight))).low * scale, out)
                (d, values, out) = (d &+ 8, values &+ codesOfGroup / 4, out + 8)
            }
        }
    }
}

@inline(__always)
private func widen32(
    _ codes: (SIMD16<Int8>, SIMD16<Int8>), _ out: UnsafeMutablePointer<Float>, _ s0: Floats, _ s1: Floats, _ s2: Floats,
    _ s3: Floats
) {
    let (a, b) = halves(floats_of_signed_bytes(codes.0))
    let (c, d) = halves(floats_of_signed_bytes(codes.1))
    store4(out, a * s0, b * s1, c * s2, d * s3)
}
