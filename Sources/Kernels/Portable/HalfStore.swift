/// The nearest half-precision value, ties to even; infinity if out of range.
@inline(__always)
func half(_ value: Float) -> UInt16 {
    let bits = value.bitPattern
    let sign = UInt16(truncatingIfNeeded: (bits >> 16) & 0x8000)
    let magnitude = bits & 0x7fff_ffff
    if magnitude >= 0x4780_0000 {  // 65536 and above, infinity, NaN
        return sign | (magnitude > 0x7f80_0000 ? 0x7e00 : 0x7c00)
    }
    if magnitude < 0x3880_0000 {  // below 2⁻¹⁴: adding 0.5 aligns and rounds a subnormal
        let shifted = Float(bitPattern: magnitude) + 0.5
        return sign | UInt16(truncatingIfNeeded: shifted.bitPattern &- 0x3f00_0000)
    }
    // Change the bias from 127 to 15 and round off 13 bits; a carry may reach the exponent, up to infinity.
    let odd = (magnitude >> 13) & 1
    return sign | UInt16(truncatingIfNeeded: (magnitude &- 0x3800_0000 &+ 0xfff &+ odd) >> 13)
}

/// Writes `count` floats as halves, `stride` apart.
@inline(never)
public func storeHalf(
    _ source: UnsafePointer<Float>, into destination: UnsafeMutablePointer<UInt16>, stride: Int, count: Int
) {
    for i in 0..<count { destination[i &* stride] = half(source[i]) }
}
