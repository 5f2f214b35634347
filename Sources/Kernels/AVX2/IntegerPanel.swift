// Unpacks packed weights of 16 rows to bytes or words and float scales, for `multiplyTile` with many tokens.

import CIntrinsics
public import KernelFormats

/// The panel of `IntegerPanel`, with codes in words for tokens of 14 bits:
///
///     codes    [8 steps][2][16 rows][2] u16: columns 0 and 2 of the step's four, then 1 and 3
///     scales   [segments][16] f32
///     offsets  [segments][16] f32
public struct PairPanel {
    static let codeBytes = 1024
    public static func blockBytes(segments: Int) -> Int { codeBytes &+ 128 &* segments }
}

/// Whether activations of all tokens have to be in words: sums of two products of this format with 8-bit activations do
/// not fit 16 bits.
public func needsPairs(_ format: PackedLayout.Format) -> Bool { format.byteCodes == nil }

/// Unpacks packed blocks of a group of 16 rows into a panel. Supports every packed layout.
///
/// - Parameters:
///   - trailing: The blocks' trailing parts; `nil`: the weights are not split.
///   - words: Whether it is a `PairPanel`. Split weights are unpacked to words only.
@inline(never)
public func unpackPanel(
    _ layout: PackedLayout, _ blocks: UnsafeRawPointer, trailing: UnsafeRawPointer? = nil, count: Int,
    into panel: UnsafeMutableRawPointer, words: Bool
) {
    if let trailing { return unpack(SplitQ8_0.self, layout, blocks, trailing, count, panel, wordsOf: true) }
    layout.format.run(Unpacking(layout: layout, blocks: blocks, count: count, panel: panel, words: words))
}

private struct Unpacking: PackedKernel {
    let layout: PackedLayout
    let blocks: UnsafeRawPointer
    let count: Int
    let panel: UnsafeMutableRawPointer
    let words: Bool

    @inline(__always)
    func run<Format: PackedFormat>(_ format: Format.Type) {
        if words {
            unpack(format, layout, blocks, blocks, count, panel, wordsOf: true)
        } else {
            unpack(format, layout, blocks, blocks, count, panel, wordsOf: false)
        }
    }
}

/// `wordsOf` is a literal.
@inline(__always)
private func unpack<Format: PackedFormat>(
    _: Format.Type, _ layout: PackedLayout, _ blocks: UnsafeRawPointer, _ trailing: UnsafeRawPointer, _ count: Int,
    _ panel: UnsafeMutableRawPointer, wordsOf words: Bool
) {
    var (block, trailing, target) = (blocks, trailing, panel)
    let stepBytes = words ? 128 : 64
    let center = words ? 0 : Float(layout.format.byteCodes?.center ?? 0)
    let hasOffsets = words || layout.format.byteCodes?.hasOffsets ?? true
    for _ in 0..<count {
        prefetchLines(block, layout.scaleBytes)
        let shared = Format.shared(block)
        var planes = block + layout.scaleBytes
        for part in 0..<layout.parts {
            prefetchLines(planes, Format.planeBytes)
            for step in 0..<4 {
                let (low0, high0) = Format.codes(planes, trailing, step)
                let (low1, high1) = Format.codes(planes + 32, trailing + 32, step)
                store((low0, low1), target + stepBytes &* step, words)
                store((high0, high1), target + stepBytes &* (step &+ 4), words)
            }
            let scales = (target + 8 &* stepBytes).assumingMemoryBound(to: Float.self)
            let offsets = scales + 16 &* Format.segments
            for segment in 0..<Format.segments {
                var (scale, offset) = Format.scales(shared, block, part, segment)
                _mm256_storeu_ps(scales + 16 &* segment, scale.0)
                _mm256_storeu_ps(scales + (16 &* segment &+ 8), scale.1)
                guard hasOffsets else { continue }
                if !words {
                    let center = _mm256_set1_ps(center)
                    offset = (_mm256_fnmadd_ps(scale.0, center, offset.0), _mm256_fnmadd_ps(scale.1, center, offset.1))
                }
                _mm256_storeu_ps(offsets + 16 &* segment, offset.0)
                _mm256_storeu_ps(offsets + (16 &* segment &+ 8), offset.1)
            }
            if Format.isSplit { trailing += PackedLayout.trailingBytes }
            planes += layout.planeBytes
            target += 8 &* stepBytes &+ 128 &* Format.segments
        }
        block += layout.blockBytes
    }
}

/// Stores the codes of a step, rows 0..<8 and 8..<16.
@inline(__always)
private func store(_ codes: (__m256i, __m256i), _ p: UnsafeMutableRawPointer, _ words: Bool) {
    if words {
        store(evenWords(codes), p)
        store(oddWords(codes), p + 64)
    } else {
        store(codes, p)
    }
}

@inline(__always)
private func store(_ v: (__m256i, __m256i), _ p: UnsafeMutableRawPointer) {
    p.storeBytes(of: v.0, as: __m256i.self)
    (p + 32).storeBytes(of: v.1, as: __m256i.self)
}
