// 16-bit floats to 32-bit floats by integer arithmetic: without F16C, Swift's own `Float(Float16)` calls a runtime
// function for each value. Both functions are exact and can be vectorized.

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
