// Converts a KV cache page to floats, for attention; see `KernelsPortable.widenHalves` and `widenQuantized`.
//
// A page is read once, sequentially, but the next page of the head is elsewhere in memory: it is prefetched here, line
// by line, while this page is converted.

public import CIntrinsics
public import KernelFormats

/// As `KernelsPortable.widenHalves`, 32 numbers at a time.
///
/// - Parameters:
///   - Page: A vector of 32 floats.
///   - next: The page to prefetch.
@inlinable @inline(__always)
public func widenHalves<Page: KernelVector>(
    _: Page.Type, _ page: UnsafeRawPointer, keyWidth: Int, valueWidth: Int,
    into destination: UnsafeMutablePointer<Float>, next: UnsafeRawPointer
) {
    let count = pageTokens &* (keyWidth &+ valueWidth)
    var i = 0
    while i < count {
        prefetch_to_l2(next + 2 &* i)
        Page.loadHalves(page + 2 &* i).store(destination + i)
        i &+= 32
    }
}

/// As `KernelsPortable.widenQuantized`, for value widths that are multiples of 8.
///
/// - Parameter next: The page to prefetch.
@inlinable @inline(__always)
public func widenQuantized<V: BlockVector>(
    _: V.Type, _ page: UnsafeRawPointer, _ layout: QuantizedPage, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    switch layout.codes {
    case .bytes: widen(ByteCodes<V>.self, page, layout, into: destination, next: next)
    case .nibbles: widen(NibbleCodes<V>.self, page, layout, into: destination, next: next)
    }
}

/// Reads the codes of a page as signed bytes, the multiples of their scales.
@usableFromInline
protocol CodeReader {
    associatedtype V: BlockVector
    static func read32(_ p: UnsafeRawPointer) -> (V.Codes, V.Codes)
    static func read8(_ p: UnsafeRawPointer) -> V
}

@usableFromInline
enum ByteCodes<V: BlockVector>: CodeReader {
    @inlinable @inline(__always)
    static func read32(_ p: UnsafeRawPointer) -> (V.Codes, V.Codes) { (.load(p), .load(p + 16)) }
    @inlinable @inline(__always)
    static func read8(_ p: UnsafeRawPointer) -> V { V.floats(signed: p.loadUnaligned(as: UInt64.self)) }
}

@usableFromInline
enum NibbleCodes<V: BlockVector>: CodeReader {
    @inlinable @inline(__always)
    static func read32(_ p: UnsafeRawPointer) -> (V.Codes, V.Codes) { levels(.load(p)) }
    @inlinable @inline(__always)
    static func read8(_ p: UnsafeRawPointer) -> V {
        V.floats(signed: levels(V.Codes(repeating: p.loadUnaligned(as: UInt32.self))).0).0
    }
    /// The levels of the nibbles of 16 bytes: of each byte the low one, then the high one.
    @inlinable @inline(__always)
    static func levels(_ bytes: V.Codes) -> (V.Codes, V.Codes) {
        V.Codes.interleave(bytes.lowNibbles.iq4Levels(), bytes.highNibbles.iq4Levels())
    }
}

@inlinable @inline(__always)
func widen<Reader: CodeReader>(
    _: Reader.Type, _ page: UnsafeRawPointer, _ layout: QuantizedPage, into destination: UnsafeMutablePointer<Float>,
    next: UnsafeRawPointer
) {
    let codesOfGroup = layout.keyRow
    var scales = layout.keyScales
    var d = 0
    while d < layout.keyWidth {
        let end = Swift.min(d &+ QuantizedPage.group, layout.keyWidth)
        prefetch_to_l2(next + scales)
        let s = VectorPair<VectorPair<Reader.V>>.loadHalves(page + scales)
        while d < end {
            let codes = d &* codesOfGroup
            prefetch_to_l2(next + codes)
            (floats(signed: Reader.read32(page + codes)) * s).store(destination + 32 &* d)
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
            let scale = Reader.V.half(page + scales)
            scales &+= 2
            if d &+ 32 <= layout.valueWidth {
                let scales = VectorPair(VectorPair(scale, scale), VectorPair(scale, scale))
                (floats(signed: Reader.read32(page + values)) * scales).store(out)
                (d, values, out) = (d &+ 32, values &+ codesOfGroup, out + 32)
                continue
            }
            while d < layout.valueWidth {
                (Reader.read8(page + values) * scale).store(out)
                (d, values, out) = (d &+ 8, values &+ codesOfGroup / 4, out + 8)
            }
        }
    }
}

@inlinable @inline(__always)
func floats<V: BlockVector>(signed codes: (V.Codes, V.Codes)) -> VectorPair<VectorPair<V>> {
    let (a, b) = V.floats(signed: codes.0)
    let (c, d) = V.floats(signed: codes.1)
    return VectorPair(VectorPair(a, b), VectorPair(c, d))
}
