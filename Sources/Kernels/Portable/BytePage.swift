public import KernelFormats

/// Quantizes a token's key and value of one head to bytes, and stores them in their page.
///
/// The scale of a group is its largest magnitude over 127, so that every value fits a byte. A group with an infinity or
/// NaN gets a NaN scale, so that the error propagates.
@inline(never)
public func storeBytes(
    key: UnsafePointer<Float>, value: UnsafePointer<Float>, in page: UnsafeMutableRawPointer, _ layout: BytePage,
    token: Int
) {
    roundGroups(
        key, count: layout.keyWidth, into: page + token, stride: BytePage.tokens,
        scales: page + layout.keyScales + 2 &* token, scaleStride: 2 &* BytePage.tokens)
    roundGroups(
        value, count: layout.valueWidth, into: page + layout.values + token &* layout.valueWidth, stride: 1,
        scales: page + layout.valueScales + 2 &* token &* layout.valueGroups, scaleStride: 2)
}

/// Quantizes the groups of a key or value. Strides are in bytes.
@inline(__always)
private func roundGroups(
    _ source: UnsafePointer<Float>, count: Int, into codes: UnsafeMutableRawPointer, stride: Int,
    scales: UnsafeMutableRawPointer, scaleStride: Int
) {
    var start = 0
    var scaleOffset = 0
    while start < count {
        let end = min(start &+ BytePage.group, count)
        // Magnitudes compare as integers, with infinity and NaN above all others.
        var largest: UInt32 = 0
        for i in start..<end { largest = max(largest, source[i].bitPattern & 0x7fff_ffff) }
        let bits = largest < 0x7f80_0000 ? half(Float(bitPattern: largest) / 127) : 0x7e00
        scales.storeBytes(of: bits.littleEndian, toByteOffset: scaleOffset, as: UInt16.self)
        // Dividing by the rounded scale compensates for its rounding. If it is infinite, 0 · ∞ gives NaN.
        let scale = floatFromHalf(bits)
        let inverse = scale > 0 ? 1 / scale : 0
        for i in start..<end {
            let multiple = min(max(source[i] * inverse, -127), 127)
            // Adding 1.5 · 2²³ rounds to the nearest integer, ties to even, which is then in the lowest byte.
            let code = UInt8(truncatingIfNeeded: (multiple + 12_582_912).bitPattern)
            codes.storeBytes(of: code, toByteOffset: i &* stride, as: UInt8.self)
        }
        start = end
        scaleOffset &+= scaleStride
    }
}

/// Converts a page of bytes to floats: keys `[keyWidth][32]`, then values `[32][valueWidth]`. The products are exact.
@inline(never)
public func widenBytes(
    _ page: UnsafeRawPointer, _ layout: BytePage, into destination: UnsafeMutablePointer<Float>
) {
    for d in 0..<layout.keyWidth {
        let scales = page + layout.keyScales + 64 &* (d / BytePage.group)
        for token in 0..<BytePage.tokens {
            let code = (page + (d &* 32 &+ token)).load(as: Int8.self)
            destination[d &* 32 &+ token] = loadHalf(scales + 2 &* token) * Float(code)
        }
    }
    let values = destination + 32 &* layout.keyWidth
    for token in 0..<BytePage.tokens {
        let codes = page + layout.values + token &* layout.valueWidth
        let scales = page + layout.valueScales + 2 &* token &* layout.valueGroups
        for d in 0..<layout.valueWidth {
            let code = (codes + d).load(as: Int8.self)
            values[token &* layout.valueWidth &+ d] = loadHalf(scales + 2 &* (d / BytePage.group)) * Float(code)
        }
    }
}

/// Converts a page of halves to floats: keys `[keyWidth][32]`, then values `[32][valueWidth]`.
@inline(never)
public func widenHalves(
    _ page: UnsafeRawPointer, keyWidth: Int, valueWidth: Int, into destination: UnsafeMutablePointer<Float>
) {
    dequantizeF16(page, into: destination, count: BytePage.tokens &* (keyWidth &+ valueWidth))
}
