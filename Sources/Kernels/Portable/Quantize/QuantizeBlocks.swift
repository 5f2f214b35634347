// Formats with blocks of 32 values.

import KernelFormats

/// Calls `body` with a buffer for the codes of a block.
@inline(__always)
func withCodes(_ count: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Void) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { body($0.baseAddress!) }
}

@inline(__always)
func storeHalf(_ value: Float, _ block: UnsafeMutableRawPointer, at offset: Int) -> Float {
    let bits = half(value)
    block.storeBytes(of: bits.littleEndian, toByteOffset: offset, as: UInt16.self)
    return floatFromHalf(bits)
}

/// Eight codes, one a byte.
@inline(__always)
func word(_ codes: UnsafePointer<UInt8>) -> UInt64 { UnsafeRawPointer(codes).loadUnaligned(as: UInt64.self) }

@inline(__always)
func store(_ word: UInt64, _ bytes: UnsafeMutableRawPointer) { bytes.storeBytes(of: word, as: UInt64.self) }

/// 1 in each byte: m times this is the mask m for each.
@inline(__always) var eachByte: UInt64 { 0x0101_0101_0101_0101 }

/// Packs the low nibbles of values 0…15 and 16…31 into 16 bytes.
@inline(__always)
private func packNibbles(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutableRawPointer) {
    let mask = 15 &* eachByte
    store((word(codes) & mask) | (word(codes + 16) & mask) << 4, bytes)
    store((word(codes + 8) & mask) | (word(codes + 24) & mask) << 4, bytes + 8)
}

/// The fifth bits of 32 codes, that of value j as bit j.
@inline(__always)
private func fifthBits(_ codes: UnsafePointer<UInt8>) -> UInt32 {
    var bits: UInt32 = 0
    for part in 0..<4 {
        let eight = UInt64(littleEndian: word(codes + 8 &* part))
        // The product has the bit of byte k as bit 56 + k.
        let gathered = ((eight >> 4) & eachByte) &* 0x0102_0408_1020_4080
        bits |= UInt32(truncatingIfNeeded: gathered >> 56) << UInt32(truncatingIfNeeded: 8 &* part)
    }
    return bits
}

/// A block with a scale: a half, the fifth bits if there are any, and the nibbles.
@inline(__always)
private func quantizeScaled(
    _ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops, _ levels: Levels,
    steps: Int,
    hasFifthBits: Bool = false
) {
    let fitted = loops.fitScale(group, levels, steps: steps).scale
    let scale = storeHalf(fitted, block, at: 0)
    withCodes(32) { codes in
        loops.encode(group.x, 32, levels, scale, 0, codes)
        packNibbles(codes, into: block + (hasFifthBits ? 6 : 2))
        if hasFifthBits {
            block.storeBytes(of: fifthBits(codes).littleEndian, toByteOffset: 2, as: UInt32.self)
        }
    }
}

/// A block with a scale and a minimum: two halves, the fifth bits if there are any, and the nibbles.
@inline(__always)
private func quantizeLine(
    _ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops, top: Float, steps: Int
) {
    let fitted = loops.fitLine(group, top: top, highest: .infinity, steps: steps)
    let scale = storeHalf(fitted.scale, block, at: 0)
    let offset = storeHalf(fitted.offset, block, at: 2)
    withCodes(32) { codes in
        loops.encode(group.x, 32, .uniform(lowest: 0, highest: top), scale, offset, codes)
        packNibbles(codes, into: block + (top > 15 ? 8 : 4))
        if top > 15 {
            block.storeBytes(of: fifthBits(codes).littleEndian, toByteOffset: 4, as: UInt32.self)
        }
    }
}

@inline(never)
func quantizeQ4_0(_ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    quantizeScaled(group, block, loops, .uniform(lowest: -8, highest: 7), steps: 1)
}

@inline(never)
func quantizeQ5_0(_ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    quantizeScaled(
        group, block, loops, .uniform(lowest: -16, highest: 15), steps: 1, hasFifthBits: true)
}

@inline(never)
func quantizeIQ4_NL(_ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    quantizeScaled(group, block, loops, .iq4, steps: 7)
}

@inline(never)
func quantizeQ4_1(_ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    quantizeLine(group, block, loops, top: 15, steps: 3)
}

@inline(never)
func quantizeQ5_1(_ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    quantizeLine(group, block, loops, top: 31, steps: 2)
}

@inline(never)
func quantizeQ8_0(_ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    let levels = Levels.uniform(lowest: -127, highest: 127)
    let (low, high) = loops.range(group.x, 32)
    let scale = storeHalf(max(high, -low) / 127, block, at: 0)
    withCodes(32) { codes in
        loops.encode(group.x, 32, levels, scale, 0, codes)
        for index in 0..<32 {
            block.storeBytes(of: codes[index] &- 127, toByteOffset: 2 &+ index, as: UInt8.self)
        }
    }
}

/// The scale is a power of two: of the smallest that reaches the largest value and its two neighbours, the one with the
/// least error is used.
@inline(never)
func quantizeMXFP4(_ group: Group, _ block: UnsafeMutableRawPointer, _ loops: GroupLoops) {
    let (low, high) = loops.range(group.x, 32)
    let largest = max(high, -low)
    // 6 = 1.5 · 2² is the largest E2M1 value. Subnormals are treated like the smallest normal exponent.
    let exponent = Int((largest.bitPattern >> 23) & 255) &- 2
    let first = min(max(exponent &- 1, 0), 252)
    var best = first
    withUnsafeTemporaryAllocation(of: Float.self, capacity: 9) { floats in
        let scales = floats.baseAddress!
        let errors = scales + 6
        for candidate in 0..<3 {
            scales[candidate] = halfScale(first &+ candidate)
            scales[3 &+ candidate] = 0
        }
        loops.squaredErrors(
            group, .e2m1, UnsafeBufferPointer(start: scales, count: 3), scales + 3, errors)
        for candidate in 1..<3 where errors[candidate] < errors[best &- first] {
            best = first &+ candidate
        }
    }
    block.storeBytes(of: UInt8(best), as: UInt8.self)
    withCodes(32) { codes in
        loops.encode(group.x, 32, .e2m1, halfScale(best), 0, codes)
        packNibbles(codes, into: block + 1)
    }
}

/// Half of 2^(exponent − 127), the factor on doubled E2M1 values.
@inline(__always)
private func halfScale(_ exponent: Int) -> Float {
    var byte = UInt8(truncatingIfNeeded: exponent)
    return withUnsafePointer(to: &byte) { BlockMXFP4($0).halfScale }
}
