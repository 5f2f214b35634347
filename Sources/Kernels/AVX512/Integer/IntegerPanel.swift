// Unpacks packed weights of 16 rows to a `WidePanel`, for `multiplyTile` with many tokens.

import CIntrinsics
public import KernelFormats

/// Unpacks packed blocks of a group of 16 rows into a panel. Supports every packed layout.
///
/// - Parameter trailing: The trailing part of the first block, if the weights are split.
@inline(never)
public func unpackPanel(
    _ layout: PackedLayout, _ blocks: UnsafeRawPointer, trailing: UnsafeRawPointer? = nil, count: Int,
    into panel: UnsafeMutableRawPointer
) {
    let unpacking = Unpacking(
        layout: layout, blocks: blocks, firstTrailing: trailing ?? blocks, count: count, panel: panel)
    if trailing != nil { return unpacking.run(SplitQ8_0.self) }
    layout.format.run(unpacking)
}

private struct Unpacking: PackedKernel {
    let layout: PackedLayout
    let blocks: UnsafeRawPointer
    /// Read only if the weights are split.
    let firstTrailing: UnsafeRawPointer
    let count: Int
    let panel: UnsafeMutableRawPointer

    @inline(__always)
    func run<Format: PackedFormat>(_: Format.Type) {
        var (block, target) = (blocks, panel)
        var trailing = firstTrailing
        let partBytes = layout.blockBytes / layout.parts
        let hasOffsets = Format.offsets == .ofSegments
        let center = _mm512_set1_epi8(Int8(truncatingIfNeeded: layout.format.center))
        for _ in 0..<count {
            let shared = Format.shared(block)
            var planes = block + layout.scaleBytes
            for part in 0..<layout.parts {
                prefetchLines(planes + bytesAhead, partBytes)
                if Format.isSplit { prefetchLines(trailing + bytesAhead / 4, PackedLayout.trailingBytes) }
                for step in 0..<4 {
                    let (low, high) = Format.codes(planes, trailing, step)
                    (target + 64 &* step).storeBytes(of: low, as: __m512i.self)
                    (target + (64 &* step &+ 256)).storeBytes(of: high, as: __m512i.self)
                }
                for segment in 0..<Format.segments {
                    var (scale, offset) = Format.scales(shared, block, part, segment)
                    if hasOffsets {
                        (target + panelOffsets(segment, segments: Format.segments)).storeBytes(
                            of: offset, as: __m512.self)
                    }
                    let isUsed = usedScales(scale)
                    if isUsed != 0xffff {
                        // Exponents of 0 cannot be added to: the codes become 0 instead.
                        scale = _mm512_mask_mov_ps(_mm512_set1_ps(1), isUsed, scale)
                        let steps = 8 / Format.segments
                        for step in segment &* steps..<(segment &+ 1) &* steps {
                            let codes = target + 64 &* step
                            codes.storeBytes(of: _mm512_mask_mov_epi32(center, isUsed, load64(codes)), as: __m512i.self)
                        }
                    }
                    var place = target + panelScales(segment)
                    for multiple in 0..<WidePanel.multiples {
                        let factor = 1 + Float(multiple) / Float(WidePanel.multiples)
                        place.storeBytes(of: _mm512_mul_ps(scale, _mm512_set1_ps(factor)), as: __m512.self)
                        place += 64
                    }
                }
                planes += layout.planeBytes
                if Format.isSplit { trailing += PackedLayout.trailingBytes }
                target += panelPartBytes(segments: Format.segments, hasOffsets: hasOffsets)
            }
            if Format.offsets == .ofParts {
                let scale = Format.minimumScale(shared)
                let isUsed = usedScales(scale)
                for pair in 0..<4 {
                    let minimums = _mm512_mask_mov_epi32(
                        _mm512_setzero_si512(), isUsed, minimums(Format.self, block, pair))
                    (target + 64 &* pair).storeBytes(of: minimums, as: __m512i.self)
                }
                (target + 256).storeBytes(of: _mm512_mask_mov_ps(_mm512_set1_ps(1), isUsed, scale), as: __m512.self)
                target += WidePanel.minimumBytes
            }
            block += layout.blockBytes
        }
    }
}

/// Bytes of 32 columns of a panel.
@inline(__always)
func panelPartBytes(segments: Int, hasOffsets: Bool) -> Int {
    panelOffsets(hasOffsets ? segments : 0, segments: segments)
}

/// Where the multiples of a segment's scales are in a part.
@inline(__always)
func panelScales(_ segment: Int) -> Int { 512 &+ 64 &* WidePanel.multiples &* segment }

/// Where a segment's offsets are in a part.
@inline(__always)
func panelOffsets(_ segment: Int, segments: Int) -> Int { panelScales(segments) &+ 64 &* segment }

/// The rows whose scales are not 0.
@inline(__always)
private func usedScales(_ scales: __m512) -> __mmask16 {
    _mm512_test_epi32_mask(_mm512_castps_si512(scales), _mm512_set1_epi32(0x7f80_0000))
}

/// The minimums of two parts of 16 rows, as pairs of 16-bit integers.
@inline(__always)
func minimums<Format: PackedFormat>(_: Format.Type, _ block: UnsafeRawPointer, _ pair: Int) -> __m512i {
    let first = integers(unsigned: Format.minimums(block, 2 &* pair))
    let second = integers(unsigned: Format.minimums(block, 2 &* pair &+ 1))
    return _mm512_or_si512(first, _mm512_slli_epi32(second, 16))
}
