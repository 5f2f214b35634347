// K-quants: blocks of 256 values, in groups of 16 or 32 whose scales are integer multiples of the block's scale.

import KernelFormats

/// Scratch for the search in one block.
struct SuperblockScratch {
    /// 256 codes.
    let codes: UnsafeMutablePointer<UInt8>
    /// For each group, the multiple of the block's scale, and below of the block's minimum.
    let scales: UnsafeMutablePointer<Float>
    let minimums: UnsafeMutablePointer<Float>
    /// For each group, the result of its search, and the increase of its error per squared deviation from that.
    let fitted: UnsafeMutablePointer<Float>
    let curvature: UnsafeMutablePointer<Float>
    let fittedMinimums: UnsafeMutablePointer<Float>
    let minimumCurvature: UnsafeMutablePointer<Float>

    @inline(__always)
    static func with(_ body: (SuperblockScratch) -> Void) {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 6 * 16) { floats in
            withCodes(256) { codes in
                let base = floats.baseAddress!
                body(
                    SuperblockScratch(
                        codes: codes, scales: base, minimums: base + 16, fitted: base + 32, curvature: base + 48,
                        fittedMinimums: base + 64, minimumCurvature: base + 80))
            }
        }
    }
}

/// Finds the codes and scales of a block: `x ≈ d · scale[group] · level`.
///
/// - Returns: `d`, as stored.
@inline(__always)
private func fitScales<L: Levels>(
    _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, groupSize: Int, _ levels: L, _ scaleLevels: UniformLevels,
    steps: Int, _ scratch: SuperblockScratch
) -> UInt16 {
    let groups = 256 / groupSize
    for group in 0..<groups {
        let fit = fitScale(x + group &* groupSize, w + group &* groupSize, count: groupSize, levels, steps: steps)
        scratch.fitted[group] = fit.scale
        scratch.curvature[group] = fit.sums.qq
    }
    var d = fitScale(scratch.fitted, scratch.curvature, count: groups, scaleLevels, steps: 8).scale
    d = floatFromHalf(half(d))
    // Try the multiples next to the fitted scale: which is best shows only when values are rounded with it.
    var (xq, qq) = (Float(0), Float(0))
    for group in 0..<groups {
        let (values, weights) = (x + group &* groupSize, w + group &* groupSize)
        let nearest = (scratch.fitted[group] * reciprocal(d)).rounded()
        var (best, bestError) = (Float(0), Float.infinity)
        for step in -1...1 {
            let scale = min(max(nearest + Float(step), scaleLevels.lowest), scaleLevels.highest)
            let error = squaredError(values, weights, count: groupSize, levels, scale: d * scale)
            if error < bestError { (best, bestError) = (scale, error) }
        }
        scratch.scales[group] = best
        let sums = ScaleSums(values, weights, count: groupSize, levels, inverse: reciprocal(d * best))
        xq += best * sums.xq
        qq += best * best * sums.qq
    }
    // Refit the block's scale to all codes.
    let refitted = qq > 0 ? half(xq / qq) : half(d)
    var (before, after) = (Float(0), Float(0))
    for group in 0..<groups {
        let (values, weights) = (x + group &* groupSize, w + group &* groupSize)
        let scale = scratch.scales[group]
        before += squaredError(values, weights, count: groupSize, levels, scale: d * scale)
        after += squaredError(values, weights, count: groupSize, levels, scale: floatFromHalf(refitted) * scale)
    }
    let bits = after < before ? refitted : half(d)
    for group in 0..<groups {
        encode(
            x + group &* groupSize, count: groupSize, levels, scale: floatFromHalf(bits) * scratch.scales[group],
            into: scratch.codes + group &* groupSize)
    }
    return bits
}

/// Finds the codes, scales and minimums of a block: `x ≈ d · scale[group] · code − dmin · minimum[group]`.
///
/// - Returns: `d` and `dmin`, as stored.
@inline(__always)
private func fitLines(
    _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, groupSize: Int, top: Float, scaleTop: Float, steps: Int,
    _ scratch: SuperblockScratch
) -> (d: UInt16, dmin: UInt16) {
    let groups = 256 / groupSize
    let levels = UniformLevels(0, top), scaleLevels = UniformLevels(0, scaleTop)
    for group in 0..<groups {
        let fit = fitLine(
            x + group &* groupSize, w + group &* groupSize, count: groupSize, top: top, highest: 0, steps: steps)
        scratch.fitted[group] = fit.scale
        scratch.curvature[group] = fit.sums.qq
        scratch.fittedMinimums[group] = -fit.offset
        scratch.minimumCurvature[group] = fit.sums.w
    }
    let d = floatFromHalf(half(fitScale(scratch.fitted, scratch.curvature, count: groups, scaleLevels, steps: 8).scale))
    let dmin = floatFromHalf(
        half(fitScale(scratch.fittedMinimums, scratch.minimumCurvature, count: groups, scaleLevels, steps: 8).scale))
    for group in 0..<groups {
        let (values, weights) = (x + group &* groupSize, w + group &* groupSize)
        let nearest = (scratch.fitted[group] * reciprocal(d)).rounded()
        let nearestMinimum = min((scratch.fittedMinimums[group] * reciprocal(dmin)).rounded(), scaleTop)
        var bestError = Float.infinity
        for step in -1...1 {
            let scale = min(max(nearest + Float(step), 0), scaleTop)
            // The best minimum for the codes that this scale and the nearest minimum give.
            let sums = LineSums(
                values, weights, count: groupSize, top: top, inverse: reciprocal(d * scale),
                offset: -dmin * nearestMinimum)
            let fitted = sums.w > 0 ? (d * scale * sums.q - sums.x) / sums.w : 0
            let minimum = min(max((fitted * reciprocal(dmin)).rounded(), 0), scaleTop)
            for choice in 0..<2 {
                let candidate = choice == 0 ? minimum : nearestMinimum
                let error = squaredError(
                    values, weights, count: groupSize, levels, scale: d * scale, offset: -dmin * candidate)
                if error < bestError {
                    bestError = error
                    scratch.scales[group] = scale
                    scratch.minimums[group] = candidate
                }
            }
        }
    }
    let refitted = refit(x, w, groupSize: groupSize, top: top, d: d, dmin: dmin, scratch)
    var (before, after) = (Float(0), Float(0))
    for group in 0..<groups {
        let (values, weights) = (x + group &* groupSize, w + group &* groupSize)
        let (scale, minimum) = (scratch.scales[group], scratch.minimums[group])
        before += squaredError(values, weights, count: groupSize, levels, scale: d * scale, offset: -dmin * minimum)
        after += squaredError(
            values, weights, count: groupSize, levels, scale: floatFromHalf(refitted.d) * scale,
            offset: -floatFromHalf(refitted.dmin) * minimum)
    }
    let result = after < before ? refitted : (half(d), half(dmin))
    for group in 0..<groups {
        encode(
            x + group &* groupSize, count: groupSize, levels, scale: floatFromHalf(result.0) * scratch.scales[group],
            offset: -floatFromHalf(result.1) * scratch.minimums[group], into: scratch.codes + group &* groupSize)
    }
    return result
}

/// `d` and `dmin` with the least squared error for the current codes.
@inline(__always)
private func refit(
    _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, groupSize: Int, top: Float, d: Float, dmin: Float,
    _ scratch: SuperblockScratch
) -> (d: UInt16, dmin: UInt16) {
    // Normal equations of x ≈ d · a − dmin · b, with a = scale · code and b = minimum.
    var (aa, ab, bb, ax, bx) = (Float(0), Float(0), Float(0), Float(0), Float(0))
    for group in 0..<(256 / groupSize) {
        let (scale, minimum) = (scratch.scales[group], scratch.minimums[group])
        let sums = LineSums(
            x + group &* groupSize, w + group &* groupSize, count: groupSize, top: top, inverse: reciprocal(d * scale),
            offset: -dmin * minimum)
        aa += scale * scale * sums.qq
        ab += scale * minimum * sums.q
        bb += minimum * minimum * sums.w
        ax += scale * sums.xq
        bx += minimum * sums.x
    }
    let determinant = aa * bb - ab * ab
    guard determinant > 1e-6 * aa * bb else { return (aa > 0 ? half((ax + dmin * ab) / aa) : half(d), half(dmin)) }
    return (half((bb * ax - ab * bx) / determinant), half((ab * ax - aa * bx) / determinant))
}

// MARK: Formats

@inline(never)
func quantizeQ2_K(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    SuperblockScratch.with { scratch in
        let (d, dmin) = fitLines(x, w, groupSize: 16, top: 3, scaleTop: 15, steps: 6, scratch)
        let bytes = block.assumingMemoryBound(to: UInt8.self)
        for group in 0..<16 {
            bytes[group] = byte(scratch.scales[group]) | (byte(scratch.minimums[group]) << 4)
        }
        packPairs(scratch.codes, into: bytes + 16)
        store(d, bytes + 80)
        store(dmin, bytes + 82)
    }
}

@inline(never)
func quantizeQ3_K(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    SuperblockScratch.with { scratch in
        let d = fitScales(x, w, groupSize: 16, UniformLevels(-4, 3), UniformLevels(-32, 31), steps: 3, scratch)
        let bytes = block.assumingMemoryBound(to: UInt8.self)
        packTopBits(scratch.codes, shift: 2, into: bytes)
        packPairs(scratch.codes, into: bytes + 32)
        let scales = bytes + 96
        scales.update(repeating: 0, count: 12)
        for group in 0..<16 {
            let scale = byte(scratch.scales[group] + 32)
            scales[group & 7] |= (scale & 15) << (group < 8 ? 0 : 4)
            scales[8 &+ (group & 3)] |= (scale >> 4) << UInt8(truncatingIfNeeded: 2 &* (group >> 2))
        }
        store(d, bytes + 108)
    }
}

@inline(never)
func quantizeQ4_K(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    SuperblockScratch.with { scratch in
        let (d, dmin) = fitLines(x, w, groupSize: 32, top: 15, scaleTop: 63, steps: 5, scratch)
        let bytes = block.assumingMemoryBound(to: UInt8.self)
        store(d, bytes)
        store(dmin, bytes + 2)
        packScales(scratch, into: bytes + 4)
        packHalves(scratch.codes, into: bytes + 16)
    }
}

@inline(never)
func quantizeQ5_K(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    SuperblockScratch.with { scratch in
        let (d, dmin) = fitLines(x, w, groupSize: 32, top: 31, scaleTop: 63, steps: 4, scratch)
        let bytes = block.assumingMemoryBound(to: UInt8.self)
        store(d, bytes)
        store(dmin, bytes + 2)
        packScales(scratch, into: bytes + 4)
        packTopBits(scratch.codes, shift: 4, into: bytes + 16)
        packHalves(scratch.codes, into: bytes + 48)
    }
}

@inline(never)
func quantizeQ6_K(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    SuperblockScratch.with { scratch in
        let d = fitScales(x, w, groupSize: 16, UniformLevels(-32, 31), UniformLevels(-128, 127), steps: 2, scratch)
        let bytes = block.assumingMemoryBound(to: UInt8.self)
        for half in 0..<2 {
            let codes = scratch.codes + 128 &* half
            let (ql, qh) = (bytes + 64 &* half, bytes + (128 &+ 32 &* half))
            for index in 0..<64 { ql[index] = (codes[index] & 15) | (codes[64 &+ index] << 4) }
            for index in 0..<32 {
                qh[index] =
                    (codes[index] >> 4) | ((codes[32 &+ index] >> 4) << 2) | ((codes[64 &+ index] >> 4) << 4)
                    | ((codes[96 &+ index] >> 4) << 6)
            }
        }
        for group in 0..<16 {
            bytes[192 &+ group] = byte(scratch.scales[group])
        }
        store(d, bytes + 208)
    }
}

@inline(never)
func quantizeIQ4_XS(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    SuperblockScratch.with { scratch in
        var d: UInt16 = 0
        IQ4Levels.with { d = fitScales(x, w, groupSize: 32, $0, UniformLevels(-32, 31), steps: 4, scratch) }
        let bytes = block.assumingMemoryBound(to: UInt8.self)
        store(d, bytes)
        var high: UInt16 = 0
        for pair in 0..<4 {
            let (even, odd) = (byte(scratch.scales[2 &* pair] + 32), byte(scratch.scales[2 &* pair &+ 1] + 32))
            bytes[4 &+ pair] = (even & 15) | (odd << 4)
            high |= (UInt16(even >> 4) | (UInt16(odd >> 4) << 2)) << UInt16(truncatingIfNeeded: 4 &* pair)
        }
        store(high, bytes + 2)
        for group in 0..<8 {
            let (codes, qs) = (scratch.codes + 32 &* group, bytes + (8 &+ 16 &* group))
            for index in 0..<16 { qs[index] = codes[index] | (codes[16 &+ index] << 4) }
        }
    }
}

// MARK: Packing

@inline(__always)
private func byte(_ value: Float) -> UInt8 {
    // Only values out of the range of a half exceed 255; their blocks are rejected later.
    value.magnitude <= 255 ? UInt8(truncatingIfNeeded: Int(value)) : 0
}

@inline(__always)
private func store(_ bits: UInt16, _ bytes: UnsafeMutablePointer<UInt8>) {
    UnsafeMutableRawPointer(bytes).storeBytes(of: bits.littleEndian, as: UInt16.self)
}

/// Packs the low two bits of codes: see `BlockQ2_K`.
@inline(__always)
private func packPairs(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutablePointer<UInt8>) {
    for half in 0..<2 {
        let codes = codes + 128 &* half
        for index in 0..<32 {
            bytes[32 &* half &+ index] =
                (codes[index] & 3) | ((codes[32 &+ index] & 3) << 2) | ((codes[64 &+ index] & 3) << 4)
                | ((codes[96 &+ index] & 3) << 6)
        }
    }
}

/// Packs one bit of each code: that of value 32k + i is bit k of byte i.
@inline(__always)
private func packTopBits(_ codes: UnsafePointer<UInt8>, shift: UInt8, into bytes: UnsafeMutablePointer<UInt8>) {
    for index in 0..<32 {
        var bits: UInt8 = 0
        for k in 0..<8 { bits |= ((codes[32 &* k &+ index] >> shift) & 1) << UInt8(truncatingIfNeeded: k) }
        bytes[index] = bits
    }
}

/// Packs the low nibbles of codes: see `BlockQ4_K`.
@inline(__always)
private func packHalves(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutablePointer<UInt8>) {
    for part in 0..<4 {
        let codes = codes + 64 &* part
        for index in 0..<32 { bytes[32 &* part &+ index] = (codes[index] & 15) | (codes[32 &+ index] << 4) }
    }
}

/// Packs eight 6-bit scales and minimums: see `packedScale`.
@inline(__always)
private func packScales(_ scratch: SuperblockScratch, into bytes: UnsafeMutablePointer<UInt8>) {
    for index in 0..<4 {
        let (scale, minimum) = (byte(scratch.scales[index]), byte(scratch.minimums[index]))
        let (upper, upperMinimum) = (byte(scratch.scales[4 &+ index]), byte(scratch.minimums[4 &+ index]))
        bytes[index] = scale | ((upper >> 4) << 6)
        bytes[4 &+ index] = minimum | ((upperMinimum >> 4) << 6)
        bytes[8 &+ index] = (upper & 15) | (upperMinimum << 4)
    }
}
