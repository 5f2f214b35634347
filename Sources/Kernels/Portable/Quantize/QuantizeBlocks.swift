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

/// Packs the low nibbles of values 0…15 and 16…31 into 16 bytes; returns the fifth bits, that of value j as bit j.
@inline(__always)
private func packNibbles(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutableRawPointer) -> UInt32 {
    var fifth: UInt32 = 0
    for index in 0..<16 {
        let (low, high) = (codes[index], codes[16 &+ index])
        bytes.storeBytes(of: (low & 15) | (high << 4), toByteOffset: index, as: UInt8.self)
        fifth |= UInt32(low >> 4) << UInt32(truncatingIfNeeded: index)
        fifth |= UInt32(high >> 4) << UInt32(truncatingIfNeeded: 16 &+ index)
    }
    return fifth
}

/// A block with a scale: a half, the fifth bits if there are any, and the nibbles.
@inline(__always)
private func quantizeScaled<L: Levels>(
    _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer, _ levels: L, steps: Int,
    hasFifthBits: Bool = false
) {
    let fitted = fitScale(x, w, count: 32, levels, steps: steps).scale
    let scale = storeHalf(fitted, block, at: 0)
    withCodes(32) { codes in
        encode(x, count: 32, levels, scale: scale, into: codes)
        let fifth = packNibbles(codes, into: block + (hasFifthBits ? 6 : 2))
        if hasFifthBits { block.storeBytes(of: fifth.littleEndian, toByteOffset: 2, as: UInt32.self) }
    }
}

/// A block with a scale and a minimum: two halves, the fifth bits if there are any, and the nibbles.
@inline(__always)
private func quantizeLine(
    _ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer, top: Float, steps: Int
) {
    let fitted = fitLine(x, w, count: 32, top: top, highest: .infinity, steps: steps)
    let scale = storeHalf(fitted.scale, block, at: 0)
    let offset = storeHalf(fitted.offset, block, at: 2)
    withCodes(32) { codes in
        encode(x, count: 32, UniformLevels(0, top), scale: scale, offset: offset, into: codes)
        let fifth = packNibbles(codes, into: block + (top > 15 ? 8 : 4))
        if top > 15 { block.storeBytes(of: fifth.littleEndian, toByteOffset: 4, as: UInt32.self) }
    }
}

@inline(never)
func quantizeQ4_0(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    quantizeScaled(x, w, block, UniformLevels(-8, 7), steps: 3)
}

@inline(never)
func quantizeQ5_0(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    quantizeScaled(x, w, block, UniformLevels(-16, 15), steps: 2, hasFifthBits: true)
}

@inline(never)
func quantizeIQ4_NL(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    IQ4Levels.with { quantizeScaled(x, w, block, $0, steps: 7) }
}

@inline(never)
func quantizeQ4_1(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    quantizeLine(x, w, block, top: 15, steps: 3)
}

@inline(never)
func quantizeQ5_1(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    quantizeLine(x, w, block, top: 31, steps: 3)
}

@inline(never)
func quantizeQ8_0(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    let levels = UniformLevels(-127, 127)
    let (low, high) = range(x, count: 32)
    let scale = storeHalf(max(high, -low) / 127, block, at: 0)
    withCodes(32) { codes in
        encode(x, count: 32, levels, scale: scale, into: codes)
        for index in 0..<32 {
            block.storeBytes(of: codes[index] &- 127, toByteOffset: 2 &+ index, as: UInt8.self)
        }
    }
}

/// The scale is a power of two: of the smallest that reaches the largest value and its two neighbours, the one with the
/// least error is used.
@inline(never)
func quantizeMXFP4(_ x: UnsafePointer<Float>, _ w: UnsafePointer<Float>, _ block: UnsafeMutableRawPointer) {
    let (low, high) = range(x, count: 32)
    let largest = max(high, -low)
    // 6 = 1.5 · 2² is the largest E2M1 value. Subnormals are treated like the smallest normal exponent.
    let exponent = Int((largest.bitPattern >> 23) & 255) &- 2
    var (best, bestError) = (min(max(exponent, 0), 254), Float.infinity)
    for candidate in (exponent &- 1)...(exponent &+ 1) where (0...254).contains(candidate) {
        let error = squaredError(x, w, count: 32, E2M1Levels(), scale: halfScale(candidate))
        if error < bestError { (best, bestError) = (candidate, error) }
    }
    block.storeBytes(of: UInt8(best), as: UInt8.self)
    withCodes(32) { codes in
        encode(x, count: 32, E2M1Levels(), scale: halfScale(best), into: codes)
        _ = packNibbles(codes, into: block + 1)
    }
}

/// Half of 2^(exponent − 127), the factor on doubled E2M1 values.
@inline(__always)
private func halfScale(_ exponent: Int) -> Float {
    var byte = UInt8(truncatingIfNeeded: exponent)
    return withUnsafePointer(to: &byte) { BlockMXFP4($0).halfScale }
}
