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
    /// Three candidates of the group at hand.
    let candidateMinimums: UnsafeMutablePointer<Float>

    @inline(__always)
    static func with(_ body: (SuperblockScratch) -> Void) {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 7 * 16) { floats in
            withCodes(256) { codes in
                let base = floats.baseAddress!
                body(
                    SuperblockScratch(
                        codes: codes, scales: base, minimums: base + 16, fitted: base + 32,
                        curvature: base + 48,
                        fittedMinimums: base + 64, minimumCurvature: base + 80, candidateMinimums: base + 96))
            }
        }
    }
}

/// Room for the candidates of one group.
private struct Candidates {
    let scales: UnsafeMutablePointer<Float>
    let offsets: UnsafeMutablePointer<Float>
    let errors: UnsafeMutablePointer<Float>
    static let limit = 8

    @inline(__always)
    static func with(_ body: (Candidates) -> Void) {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 3 * limit) {
            let base = $0.baseAddress!
            body(Candidates(scales: base, offsets: base + limit, errors: base + 2 * limit))
        }
    }

    @inline(__always)
    func set(_ index: Int, scale: Float, offset: Float = 0) {
        scales[index] = scale
        offsets[index] = offset
    }

    /// Computes the errors of the first `count` candidates.
    @inline(__always)
    func evaluate(_ count: Int, _ group: Group, _ levels: Levels, _ loops: GroupLoops) {
        loops.squaredErrors(
            group, levels, UnsafeBufferPointer(start: scales, count: count), offsets, errors)
    }
}

extension Group {
    /// The part with this number, of parts of `size` values.
    @inline(__always)
    fileprivate func part(_ index: Int, of size: Int) -> Group {
        Group(x + index &* size, w + index &* size, count: size)
    }
}

/// Finds the codes and scales of a block: `x ≈ d · scale[group] · level`.
///
/// - Returns: `d`, as stored.
@inline(__always)
private func fitScales(
    _ block: Group, groupSize: Int, _ levels: Levels, _ scaleLevels: Levels, steps: Int,
    _ loops: GroupLoops,
    _ scratch: SuperblockScratch
) -> UInt16 {
    let groups = 256 / groupSize
    for index in 0..<groups {
        let fit = loops.fitScale(block.part(index, of: groupSize), levels, steps: steps)
        scratch.fitted[index] = fit.scale
        scratch.curvature[index] = fit.sums.qq
    }
    var d = loops.fitScale(
        Group(scratch.fitted, scratch.curvature, count: groups), scaleLevels, steps: 7
    ).scale
    d = floatFromHalf(half(d))
    var bits = half(d)
    Candidates.with { candidates in
        // Try the multiples next to the fitted scale: which is best shows only when values are rounded with it.
        var (xq, qq) = (Float(0), Float(0))
        for index in 0..<groups {
            let group = block.part(index, of: groupSize)
            let nearest = (scratch.fitted[index] * reciprocal(d)).rounded()
            @inline(__always)
            func multiple(_ candidate: Int) -> Float {
                min(max(nearest + Float(candidate &- 1), scaleLevels.lowest), scaleLevels.highest)
            }
            for candidate in 0..<3 { candidates.set(candidate, scale: d * multiple(candidate)) }
            candidates.evaluate(3, group, levels, loops)
            var best = 0
            for candidate in 1..<3 where candidates.errors[candidate] < candidates.errors[best] {
                best = candidate
            }
            let scale = candidates.errors[best] < .infinity ? multiple(best) : 0
            scratch.scales[index] = scale
            let sums = loops.scaleSums(group, levels, inverse: reciprocal(d * scale))
            xq += scale * sums.xq
            qq += scale * scale * sums.qq
        }
        // Refit the block's scale to all codes.
        let refitted = qq > 0 ? half(xq / qq) : half(d)
        var (before, after) = (Float(0), Float(0))
        for index in 0..<groups {
            candidates.set(0, scale: d * scratch.scales[index])
            candidates.set(1, scale: floatFromHalf(refitted) * scratch.scales[index])
            candidates.evaluate(2, block.part(index, of: groupSize), levels, loops)
            before += candidates.errors[0]
            after += candidates.errors[1]
        }
        bits = after < before ? refitted : half(d)
    }
    for index in 0..<groups {
        loops.encode(
            block.x + index &* groupSize, groupSize, levels, floatFromHalf(bits) * scratch.scales[index],
            0,
            scratch.codes + index &* groupSize)
    }
    return bits
}

/// Finds the codes, scales and minimums of a block: `x ≈ d · scale[group] · code − dmin · minimum[group]`.
///
/// - Returns: `d` and `dmin`, as stored.
@inline(__always)
private func fitLines(
    _ block: Group, groupSize: Int, top: Float, scaleTop: Float, steps: Int, _ loops: GroupLoops,
    _ scratch: SuperblockScratch
) -> (d: UInt16, dmin: UInt16) {
    let groups = 256 / groupSize
    let levels = Levels.uniform(lowest: 0, highest: top)
    let scaleLevels = Levels.uniform(lowest: 0, highest: scaleTop)
    for index in 0..<groups {
        let fit = loops.fitLine(block.part(index, of: groupSize), top: top, highest: 0, steps: steps)
        scratch.fitted[index] = fit.scale
        scratch.curvature[index] = fit.sums.qq
        scratch.fittedMinimums[index] = -fit.offset
        scratch.minimumCurvature[index] = fit.sums.w
    }
    @inline(__always)
    func fitted(_ values: UnsafePointer<Float>, _ curvature: UnsafePointer<Float>) -> Float {
        floatFromHalf(
            half(loops.fitScale(Group(values, curvature, count: groups), scaleLevels, steps: 7).scale))
    }
    let d = fitted(scratch.fitted, scratch.curvature)
    let dmin = fitted(scratch.fittedMinimums, scratch.minimumCurvature)
    var result = (half(d), half(dmin))
    Candidates.with { candidates in
        for index in 0..<groups {
            chooseMultiples(
                index, of: block.part(index, of: groupSize), levels, scaleTop, d, dmin, loops, scratch,
                candidates)
        }
        let refitted = refit(block, groupSize: groupSize, top: top, d: d, dmin: dmin, loops, scratch)
        var (before, after) = (Float(0), Float(0))
        for index in 0..<groups {
            let (scale, minimum) = (scratch.scales[index], scratch.minimums[index])
            candidates.set(0, scale: d * scale, offset: -dmin * minimum)
            candidates.set(
                1, scale: floatFromHalf(refitted.d) * scale, offset: -floatFromHalf(refitted.dmin) * minimum
            )
            candidates.evaluate(2, block.part(index, of: groupSize), levels, loops)
            before += candidates.errors[0]
            after += candidates.errors[1]
        }
        if after < before { result = refitted }
    }
    for index in 0..<groups {
        loops.encode(
            block.x + index &* groupSize, groupSize, levels,
            floatFromHalf(result.0) * scratch.scales[index],
            -floatFromHalf(result.1) * scratch.minimums[index], scratch.codes + index &* groupSize)
    }
    return result
}

/// Chooses the multiples of `d` and `dmin` of one group: of the three next to the fitted scale, each with the nearest
/// minimum and with the best one for the codes that both give.
@inline(__always)
private func chooseMultiples(
    _ index: Int, of group: Group, _ levels: Levels, _ scaleTop: Float, _ d: Float, _ dmin: Float,
    _ loops: GroupLoops,
    _ scratch: SuperblockScratch, _ candidates: Candidates
) {
    let nearest = (scratch.fitted[index] * reciprocal(d)).rounded()
    let nearestMinimum = min((scratch.fittedMinimums[index] * reciprocal(dmin)).rounded(), scaleTop)
    @inline(__always)
    func multiple(_ candidate: Int) -> Float {
        min(max(nearest + Float(candidate &- 1), 0), scaleTop)
    }
    withUnsafeTemporaryAllocation(of: LineSums.self, capacity: 3) { sums in
        for candidate in 0..<3 { candidates.scales[candidate] = reciprocal(d * multiple(candidate)) }
        loops.lineSums(
            group, levels.highest, -dmin * nearestMinimum,
            UnsafeBufferPointer(start: candidates.scales, count: 3),
            sums.baseAddress!)
        for candidate in 0..<3 {
            let (scale, sum) = (d * multiple(candidate), sums[candidate])
            let fitted = sum.w > 0 ? (scale * sum.q - sum.x) / sum.w : 0
            let minimum = min(max((fitted * reciprocal(dmin)).rounded(), 0), scaleTop)
            scratch.candidateMinimums[candidate] = minimum
            candidates.set(candidate, scale: scale, offset: -dmin * minimum)
            candidates.set(3 &+ candidate, scale: scale, offset: -dmin * nearestMinimum)
        }
    }
    candidates.evaluate(6, group, levels, loops)
    var bestError = Float.infinity
    for candidate in 0..<6 where candidates.errors[candidate] < bestError {
        bestError = candidates.errors[candidate]
        scratch.scales[index] = multiple(candidate % 3)
        scratch.minimums[index] = candidate < 3 ? scratch.candidateMinimums[candidate] : nearestMinimum
    }
}

/// `d` and `dmin` with the least squared error for the current codes.
@inline(__always)
private func refit(
    _ block: Group, groupSize: Int, top: Float, d: Float, dmin: Float, _ loops: GroupLoops,
    _ scratch: SuperblockScratch
) -> (d: UInt16, dmin: UInt16) {
    // Normal equations of x ≈ d · a − dmin · b, with a = scale · code and b = minimum.
    var (aa, ab, bb, ax, bx) = (Float(0), Float(0), Float(0), Float(0), Float(0))
    for index in 0..<(256 / groupSize) {
        let (scale, minimum) = (scratch.scales[index], scratch.minimums[index])
        let sums = loops.lineSums(
            block.part(index, of: groupSize), top: top, inverse: reciprocal(d * scale),
            offset: -dmin * minimum)
        aa += scale * scale * sums.qq
        ab += scale * minimum * sums.q
        bb += minimum * minimum * sums.w
        ax += scale * sums.xq
        bx += minimum * sums.x
    }
    let determinant = aa * bb - ab * ab
    guard determinant > 1e-6 * aa * bb else {
        return (aa > 0 ? half((ax + dmin * ab) / aa) : half(d), half(dmin))
    }
    return (half((bb * ax - ab * bx) / determinant), half((ab * ax - aa * bx) / determinant))
}

// MARK: Formats

@inline(never)
func quantizeQ2_K(_ block: Group, _ bytes: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    SuperblockScratch.with { scratch in
        let (d, dmin) = fitLines(block, groupSize: 16, top: 3, scaleTop: 15, steps: 6, loops, scratch)
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
        for group in 0..<16 {
            bytes[group] = byte(scratch.scales[group]) | (byte(scratch.minimums[group]) << 4)
        }
        packPairs(scratch.codes, into: bytes + 16)
        store(d, bytes + 80)
        store(dmin, bytes + 82)
    }
}

@inline(never)
func quantizeQ3_K(_ block: Group, _ bytes: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    SuperblockScratch.with { scratch in
        let d = fitScales(
            block, groupSize: 16, .uniform(lowest: -4, highest: 3), .uniform(lowest: -32, highest: 31),
            steps: 1, loops, scratch)
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
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
func quantizeQ4_K(_ block: Group, _ bytes: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    SuperblockScratch.with { scratch in
        let (d, dmin) = fitLines(block, groupSize: 32, top: 15, scaleTop: 63, steps: 5, loops, scratch)
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
        store(d, bytes)
        store(dmin, bytes + 2)
        packScales(scratch, into: bytes + 4)
        packHalves(scratch.codes, into: bytes + 16)
    }
}

@inline(never)
func quantizeQ5_K(_ block: Group, _ bytes: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    SuperblockScratch.with { scratch in
        let (d, dmin) = fitLines(block, groupSize: 32, top: 31, scaleTop: 63, steps: 4, loops, scratch)
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
        store(d, bytes)
        store(dmin, bytes + 2)
        packScales(scratch, into: bytes + 4)
        packTopBits(scratch.codes, shift: 4, into: bytes + 16)
        packHalves(scratch.codes, into: bytes + 48)
    }
}

@inline(never)
func quantizeQ6_K(_ block: Group, _ bytes: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    SuperblockScratch.with { scratch in
        let d = fitScales(
            block, groupSize: 16, .uniform(lowest: -32, highest: 31),
            .uniform(lowest: -128, highest: 127), steps: 1, loops, scratch)
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
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
func quantizeIQ4_XS(_ block: Group, _ bytes: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    SuperblockScratch.with { scratch in
        let d = fitScales(
            block, groupSize: 32, .iq4, .uniform(lowest: -32, highest: 31), steps: 4, loops, scratch)
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
        store(d, bytes)
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
    let mask = 3 &* eachByte
    for half in 0..<2 {
        let source = codes + 128 &* half
        for index in stride(from: 0, to: 32, by: 8) {
            let low = (word(source + index) & mask) | (word(source + (index &+ 32)) & mask) << 2
            let high = (word(source + (index &+ 64)) & mask) << 4 | (word(source + (index &+ 96)) & mask) << 6
            store(low | high, bytes + (32 &* half &+ index))
        }
    }
}

/// Packs one bit of each code: that of value 32k + i is bit k of byte i.
@inline(__always)
private func packTopBits(_ codes: UnsafePointer<UInt8>, shift: UInt64, into bytes: UnsafeMutablePointer<UInt8>) {
    for index in stride(from: 0, to: 32, by: 8) {
        var bits: UInt64 = 0
        for k in 0..<8 {
            bits |= ((word(codes + (32 &* k &+ index)) >> shift) & eachByte) << UInt64(truncatingIfNeeded: k)
        }
        store(bits, bytes + index)
    }
}

/// Packs the low nibbles of codes: see `BlockQ4_K`.
@inline(__always)
private func packHalves(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutablePointer<UInt8>) {
    let mask = 15 &* eachByte
    for part in 0..<4 {
        let source = codes + 64 &* part
        for index in stride(from: 0, to: 32, by: 8) {
            store(
                (word(source + index) & mask) | (word(source + (index &+ 32)) & mask) << 4,
                bytes + (32 &* part &+ index))
        }
    }
}

/// Packs eight 6-bit scales and minimums: see `packedScale`.
@inline(__always)
private func packScales(_ scratch: SuperblockScratch, into bytes: UnsafeMutablePointer<UInt8>) {
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
