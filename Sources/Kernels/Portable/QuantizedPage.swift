public import KernelFormats
import KernelsFloat

/// Quantizes a token's key and value of one head, and stores them in their page.
///
/// - Bytes: the scale of a group is its largest magnitude over 127, so that every value fits.
/// - Nibbles: the scale first maps the value of largest magnitude to the lowest level, and is then fitted to the codes.
///
/// A group with an infinity or NaN, or one too large for a half-precision scale, is NaN when read, so that the error
/// propagates.
@inline(never)
public func storeQuantized(
    key: UnsafePointer<Float>, value: UnsafePointer<Float>, in page: UnsafeMutableRawPointer, _ layout: QuantizedPage,
    token: Int
) {
    let keyScales = page + (layout.keyScales &+ 2 &* token)
    let values = page + (layout.values &+ token &* layout.valueRow)
    let valueScales = page + (layout.valueScales &+ 2 &* token &* layout.valueGroups)
    switch layout.codes {
    case .bytes:
        roundGroups(
            key, count: layout.keyWidth, into: page + token, stride: QuantizedPage.tokens, scales: keyScales,
            scaleStride: 2 &* QuantizedPage.tokens)
        roundGroups(value, count: layout.valueWidth, into: values, stride: 1, scales: valueScales, scaleStride: 2)
    case .nibbles:
        // A page may hold other tokens already: only this token's nibbles change.
        let shift = UInt8(4 &* (token & 1))
        chooseLevels(key, count: layout.keyWidth, scales: keyScales, scaleStride: 2 &* QuantizedPage.tokens) {
            d, code in
            let address = page + (d &* layout.keyRow &+ token / 2)
            let others = address.load(as: UInt8.self) & ~(15 << shift)
            address.storeBytes(of: others | code << shift, as: UInt8.self)
        }
        var low: UInt8 = 0
        chooseLevels(value, count: layout.valueWidth, scales: valueScales, scaleStride: 2) { d, code in
            low = d & 1 == 0 ? code : low | code << 4
            values.storeBytes(of: low, toByteOffset: d / 2, as: UInt8.self)
        }
    }
}

/// The largest magnitude, as bits: 7f800000 or more if a value is infinite or NaN.
@inline(__always)
private func largestMagnitude(_ source: UnsafePointer<Float>, _ range: Range<Int>) -> UInt32 {
    var largest: UInt32 = 0
    for i in range { largest = max(largest, source[i].bitPattern & 0x7fff_ffff) }
    return largest
}

private let notANumber: UInt16 = 0x7e00

/// Quantizes the groups of a key or value to bytes. Strides are in bytes.
@inline(__always)
private func roundGroups(
    _ source: UnsafePointer<Float>, count: Int, into codes: UnsafeMutableRawPointer, stride: Int,
    scales: UnsafeMutableRawPointer, scaleStride: Int
) {
    var start = 0
    var scaleOffset = 0
    while start < count {
        let end = min(start &+ QuantizedPage.group, count)
        let largest = largestMagnitude(source, start..<end)
        let bits = largest < 0x7f80_0000 ? half(Float(bitPattern: largest) / 127) : notANumber
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

/// Quantizes the groups of a key or value to nibbles, and calls `body` with each index and its code.
@inline(__always)
private func chooseLevels(
    _ source: UnsafePointer<Float>, count: Int, scales: UnsafeMutableRawPointer, scaleStride: Int,
    _ body: (Int, UInt8) -> Void
) {
    withUnsafeTemporaryAllocation(of: Float.self, capacity: QuantizedPage.group) { floats in
        // The values of a group, and zeros behind a shorter one.
        let x = floats.baseAddress!
        var start = 0
        var scaleOffset = 0
        while start < count {
            let size = min(QuantizedPage.group, count &- start)
            for i in 0..<QuantizedPage.group { x[i] = i < size ? source[start &+ i] : 0 }
            let bits = levelScale(x, count: size)
            scales.storeBytes(of: bits.littleEndian, toByteOffset: scaleOffset, as: UInt16.self)
            let inverse = EightFloats(floatFromHalf(bits)).reciprocal
            var i = 0
            while i < size {
                let codes = (EightFloats.load(x + i) * inverse).iq4Code()
                for lane in 0..<min(8, size &- i) { body(start &+ i &+ lane, UInt8(truncatingIfNeeded: codes[lane])) }
                i &+= 8
            }
            start &+= size
            scaleOffset &+= scaleStride
        }
    }
}

/// The scale of a group, as a half.
///
/// - Parameter x: 32 values, of which the last are zeros if `count` is less.
@inline(__always)
private func levelScale(_ x: UnsafePointer<Float>, count: Int) -> UInt16 {
    guard largestMagnitude(x, 0..<32) < 0x7f80_0000 else { return notANumber }
    var largest: Float = 0
    for i in 0..<32 where abs(x[i]) > abs(largest) { largest = x[i] }
    let inverse = EightFloats(largest / -127).reciprocal
    var (xq, qq) = (SIMD8<Float>(), SIMD8<Float>())
    for i in stride(from: 0, to: 32, by: 8) {
        let values = EightFloats.load(x + i)
        // The level nearest to zero is 1, which must not count where there is no value.
        let isValue = SIMD8<Int32>(0, 1, 2, 3, 4, 5, 6, 7) .< Int32(truncatingIfNeeded: count &- i)
        let q = SIMD8<Float>().replacing(with: (values * inverse).iq4Level().v, where: isValue)
        xq += q * values.v
        qq += q * q
    }
    let (top, bottom) = (xq.sum(), qq.sum())
    let bits = half(bottom > 0 ? top / bottom : 0)
    return bits & 0x7fff < 0x7c00 ? bits : notANumber
}

/// Converts a quantized page to floats: keys `[keyWidth][32]`, then values `[32][valueWidth]`. The products are exact.
@inline(never)
public func widenQuantized(
    _ page: UnsafeRawPointer, _ layout: QuantizedPage, into destination: UnsafeMutablePointer<Float>
) {
    let levels = iq4Levels
    /// The multiple of the scale that element `index` of a row is.
    @inline(__always)
    func multiple(_ row: UnsafeRawPointer, _ index: Int) -> Float {
        guard layout.codes == .nibbles else { return Float((row + index).load(as: Int8.self)) }
        let byte = (row + index / 2).load(as: UInt8.self)
        return Float(levels[Int(index & 1 == 0 ? byte & 15 : byte >> 4)])
    }
    for d in 0..<layout.keyWidth {
        let scales = page + (layout.keyScales &+ 64 &* (d / QuantizedPage.group))
        for token in 0..<QuantizedPage.tokens {
            let code = multiple(page + d &* layout.keyRow, token)
            destination[d &* 32 &+ token] = loadHalf(scales + 2 &* token) * code
        }
    }
    let values = destination + 32 &* layout.keyWidth
    for token in 0..<QuantizedPage.tokens {
        let row = page + (layout.values &+ token &* layout.valueRow)
        let scales = page + (layout.valueScales &+ 2 &* token &* layout.valueGroups)
        for d in 0..<layout.valueWidth {
            values[token &* layout.valueWidth &+ d] =
                loadHalf(scales + 2 &* (d / QuantizedPage.group)) * multiple(row, d)
        }
    }
}

/// Converts a page of halves to floats: keys `[keyWidth][32]`, then values `[32][valueWidth]`.
@inline(never)
public func widenHalves(
    _ page: UnsafeRawPointer, keyWidth: Int, valueWidth: Int, into destination: UnsafeMutablePointer<Float>
) {
    dequantizeF16(page, into: destination, count: QuantizedPage.tokens &* (keyWidth &+ valueWidth))
}
