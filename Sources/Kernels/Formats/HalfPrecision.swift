// 16-bit floats to 32-bit floats by integer arithmetic: without F16C, Swift's own `Float(Float16)` calls a runtime
// function for each value. They are exact and can be vectorized.

/// The value of the IEEE 754 half-precision number with these bits; a NaN keeps its payload.
@inlinable @inline(__always)
public func floatFromHalf(_ bits: UInt16) -> Float {
    let magnitude = UInt32(bits & 0x7fff)
    // Changing the exponent's bias from 15 to 127 adds 112; a second 112 moves 31 (infinity, NaN) to 255.
    let bias: UInt32 = magnitude >= 0x7c00 ? 224 << 23 : 112 << 23
    let normal = (magnitude << 13) &+ bias
    // Subnormals are in units of 2⁻²⁴, like the last bits of a float in 0.5..<1.
    let subnormal = (Float(bitPattern: magnitude | 0x3f00_0000) - 0.5).bitPattern
    let sign = UInt32(bits & 0x8000) << 16
    return Float(bitPattern: (magnitude < 0x400 ? subnormal : normal) | sign)
}

/// The value of the bfloat16 number with these bits: the upper half of a `Float`.
@inlinable @inline(__always)
public func floatFromBFloat16(_ bits: UInt16) -> Float {
    Float(bitPattern: UInt32(bits) << 16)
}

/// The half-precision number at `pointer`, which need not be aligned.
@inlinable @inline(__always)
public func loadHalf(_ pointer: UnsafeRawPointer) -> Float {
    floatFromHalf(UInt16(littleEndian: pointer.loadUnaligned(as: UInt16.self)))
}

/// The nearest half-precision value, ties to even; infinity if out of range.
@inlinable @inline(__always)
public func half(_ value: Float) -> UInt16 {
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
