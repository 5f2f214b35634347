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
    switch layout.format {
    case .Q4_0: unpack(PackedQ4_0.self, layout, blocks, count, panel)
    case .Q4_1: unpack(PackedQ4_1.self, layout, blocks, count, panel)
    case .Q5_0: unpack(PackedQ5_0.self, layout, blocks, count, panel)
    case .Q5_1: unpack(PackedQ5_1.self, layout, blocks, count, panel)
    case .Q8_0: unpack(PackedQ8_0.self, layout, blocks, count, panel)
    case .Q2_K: unpack(PackedQ2_K.self, layout, blocks, count, panel)
    case .Q3_K: unpack(PackedQ3_K.self, layout, blocks, count, panel)
    case .Q4_K: unpack(PackedQ4_K.self, layout, blocks, count, panel)
    case .Q5_K: unpack(PackedQ5_K.self, layout, blocks, count, panel)
    case .Q6_K: unpack(PackedQ6_K.self, layout, blocks, count, panel)
    case .IQ4_NL: unpack(PackedIQ4_NL.self, layout, blocks, count, panel)
    case .IQ4_XS: unpack(PackedIQ4_XS.self, layout, blocks, count, panel)
    case .MXFP4: unpack(PackedMXFP4.self, layout, blocks, count, panel)
    case .NVFP4: unpack(PackedNVFP4.self, layout, blocks, count, panel)
    case .ternary: unpack(PackedTernary.self, layout, blocks, count, panel)
    case .IQ1_S: unpack(PackedIQ1_S.self, layout, blocks, count, panel)
    case .IQ1_M: unpack(PackedIQ1_M.self, layout, blocks, count, panel)
    case .IQ2: unpack(PackedIQ2.self, layout, blocks, count, panel)
    case .IQ3_XXS: unpack(PackedIQ3_XXS.self, layout, blocks, count, panel)
    case .IQ3_S: unpack(PackedIQ3_S.self, layout, blocks, count, panel)
    }
}

@inline(__always)
private func unpack<Format: PackedFormat>(
    _: Format.Type, _ layout: PackedLayout, _ blocks: UnsafeRawPointer, _ count: Int, _ panel: UnsafeMutableRawPointer
) {
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
                (target + (512 &+ 64 &* segment)).storeBytes(of: scale, as: Rows.self)
                (target + (512 &+ 64 &* (Format.segments &+ segment))).storeBytes(of: offset, as: Rows.self)
            }
            planes += layout.planeBytes
            target += IntegerPanel.blockBytes(segments: Format.segments)
        }
        block += layout.blockBytes
    }
}
