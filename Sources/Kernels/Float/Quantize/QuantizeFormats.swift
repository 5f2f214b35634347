// One function per format, so that the tiers need not repeat them: each is compiled once per kind of weights.

@inlinable @inline(never)
func quantizeQ4_0<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeScaled(row, UniformRounding<V>(-8, 7), steps: W.areEqual ? 0 : 1)
}

@inlinable @inline(never)
func quantizeQ5_0<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeScaled(row, UniformRounding<V>(-16, 15), steps: W.areEqual ? 0 : 1, hasFifthBits: true)
}

@inlinable @inline(never)
func quantizeIQ4_NL<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeScaled(row, IQ4Rounding<V>(), steps: 7)
}

@inlinable @inline(never)
func quantizeQ4_1<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeLines(row, top: 15, steps: W.areEqual ? 0 : 3)
}

@inlinable @inline(never)
func quantizeQ5_1<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeLines(row, top: 31, steps: W.areEqual ? 0 : 2)
}

@inlinable @inline(never)
func quantizeQ2_K<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeSuperblocks(row, groupSize: 16, blockBytes: 84) { groups, scratch in
        fitLines(groups, top: 3, scaleTop: 15, steps: 6, scratch)
    } pack: { d, scratch, bytes in
        for group in 0..<16 {
            bytes[group] = byte(scratch.scales[group]) | (byte(scratch.minimums[group]) << 4)
        }
        packPairs(scratch.panel.codes, into: bytes + 16)
        store(d.d, bytes + 80)
        store(d.dmin, bytes + 82)
    }
}

@inlinable @inline(never)
func quantizeQ3_K<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeSuperblocks(row, groupSize: 16, blockBytes: 110) { groups, scratch in
        (fitScales(groups, UniformRounding<V>(-4, 3), lowest: -32, highest: 31, steps: 1, scratch), 0)
    } pack: { d, scratch, bytes in
        packTopBits(scratch.panel.codes, shift: 2, into: bytes)
        packPairs(scratch.panel.codes, into: bytes + 32)
        let scales = bytes + 96
        scales.update(repeating: 0, count: 12)
        for group in 0..<16 {
            let scale = byte(scratch.scales[group] + 32)
            scales[group & 7] |= (scale & 15) << (group < 8 ? 0 : 4)
            scales[8 &+ (group & 3)] |= (scale >> 4) << UInt8(truncatingIfNeeded: 2 &* (group >> 2))
        }
        store(d.d, bytes + 108)
    }
}

@inlinable @inline(never)
func quantizeQ4_K<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeSuperblocks(row, groupSize: 32, blockBytes: 144) { groups, scratch in
        fitLines(groups, top: 15, scaleTop: 63, steps: 5, scratch)
    } pack: { d, scratch, bytes in
        store(d.d, bytes)
        store(d.dmin, bytes + 2)
        packScales(scratch, into: bytes + 4)
        packHalves(scratch.panel.codes, into: bytes + 16)
    }
}

@inlinable @inline(never)
func quantizeQ5_K<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeSuperblocks(row, groupSize: 32, blockBytes: 176) { groups, scratch in
        fitLines(groups, top: 31, scaleTop: 63, steps: 4, scratch)
    } pack: { d, scratch, bytes in
        store(d.d, bytes)
        store(d.dmin, bytes + 2)
        packScales(scratch, into: bytes + 4)
        packTopBits(scratch.panel.codes, shift: 4, into: bytes + 16)
        packHalves(scratch.panel.codes, into: bytes + 48)
    }
}

@inlinable @inline(never)
func quantizeQ6_K<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeSuperblocks(row, groupSize: 16, blockBytes: 210) { groups, scratch in
        (fitScales(groups, UniformRounding<V>(-32, 31), lowest: -128, highest: 127, steps: 1, scratch), 0)
    } pack: { d, scratch, bytes in
        packSixBits(scratch.panel.codes, into: bytes)
        for group in 0..<16 { bytes[192 &+ group] = byte(scratch.scales[group]) }
        store(d.d, bytes + 208)
    }
}

@inlinable @inline(never)
func quantizeIQ4_XS<V: Lanes, W: Weights>(_ row: QuantizedRow<V, W>) {
    quantizeSuperblocks(row, groupSize: 32, blockBytes: 136) { groups, scratch in
        (fitScales(groups, IQ4Rounding<V>(), lowest: -32, highest: 31, steps: 4, scratch), 0)
    } pack: { d, scratch, bytes in
        store(d.d, bytes)
        var high: UInt16 = 0
        for pair in 0..<4 {
            let (even, odd) = (
                byte(scratch.scales[2 &* pair] + 32), byte(scratch.scales[2 &* pair &+ 1] + 32)
            )
            bytes[4 &+ pair] = (even & 15) | (odd << 4)
            high |= (UInt16(even >> 4) | (UInt16(odd >> 4) << 2)) << UInt16(truncatingIfNeeded: 4 &* pair)
        }
        store(high, bytes + 2)
        for group in 0..<8 {
            V.packNibbles(scratch.panel.codes + 32 &* group, into: bytes + (8 &+ 16 &* group))
        }
    }
}

@inlinable @inline(__always)
func byte(_ value: Float) -> UInt8 {
    // Only values out of the range of a half exceed 255; their blocks are rejected later.
    value.magnitude <= 255 ? UInt8(truncatingIfNeeded: Int(value)) : 0
}

/// Packs eight 6-bit scales and minimums: see `packedScale`.
@inlinable @inline(__always)
func packScales<V: Lanes>(_ scratch: SuperblockScratch<V>, into bytes: UnsafeMutablePointer<UInt8>) {
    for index in 0..<4 {
        let (scale, minimum) = (byte(scratch.scales[index]), byte(scratch.minimums[index]))
        let (upper, upperMinimum) = (
            byte(scratch.scales[4 &+ index]), byte(scratch.minimums[4 &+ index])
        )
        bytes[index] = scale | ((upper >> 4) << 6)
        bytes[4 &+ index] = minimum | ((upperMinimum >> 4) << 6)
        bytes[8 &+ index] = (upper & 15) | (upperMinimum << 4)
    }
}
