// Unpacks packed weights of 16 rows to bytes and float scales, for `multiplyTile` with many tokens.

import CIntrinsics
public import KernelFormats

/// Whether a format needs activations of 14 bits: `sdot` has room for all products of bytes.
public func needsPairs(_ format: PackedLayout.Format) -> Bool { false }

/// Unpacks packed blocks of a group of 16 rows into a panel. Supports every packed layout.
@inline(never)
public func unpackPanel(
    _ layout: PackedLayout, _ blocks: UnsafeRawPointer, count: Int, into panel: UnsafeMutableRawPointer
) {
    layout.format.run(Unpacking(layout: layout, blocks: blocks, count: count, panel: panel))
}

private struct Unpacking: PackedKernel {
    let layout: PackedLayout
    let blocks: UnsafeRawPointer
    let count: Int
    let panel: UnsafeMutableRawPointer

    @inline(__always)
    func run<Format: PackedFormat>(_: Format.Type) {
        var (block, target) = (blocks, panel)
        let partBytes = layout.blockBytes / layout.parts
        for _ in 0..<count {
            let shared = Format.shared(block)
            var planes = block + layout.scaleBytes
            for part in 0..<layout.parts {
                prefetchLines(planes, partBytes)
                for step in 0..<4 {
                    let (low, high) = Format.codes(planes, step)
                    (target + 64 &* step).storeBytes(of: low, as: Codes.self)
                    (target + (64 &* step &+ 256)).storeBytes(of: high, as: Codes.self)
                }
                for segment in 0..<Format.segments {
                    let (scale, offset) = Format.scales(shared, block, part, segment)
                    (target + (512 &+ 64 &* segment)).storeBytes(of: scale, as: RowFloats.self)
                    (target + (512 &+ 64 &* (Format.segments &+ segment))).storeBytes(of: offset, as: RowFloats.self)
                }
                planes += layout.planeBytes
                target += IntegerPanel.blockBytes(segments: Format.segments)
            }
            block += layout.blockBytes
        }
    }
}
