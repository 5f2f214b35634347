// Formats with few levels: 4-bit floats, ternary codes, and codes of grid points.

import CIntrinsics
import KernelFormats

// MARK: 4-bit floats

enum PackedMXFP4: PackedE2M1 {
    static var segments: Int { 1 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows {
        // Halved: levels are doubled.
        times(powers_of_two(bytes(block, 0)), 0.5)
    }
    @inline(__always)
    static func scales(
        _ shared: Rows, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        (shared, Rows())
    }
}

enum PackedNVFP4: PackedE2M1 {
    static var segments: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) {}
    @inline(__always)
    static func scales(
        _ shared: Void, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        let halves = halves_of_bytes(bytes(block, 2 &* part &+ segment)) &<< 7
        // Half the values of numbers with four exponent bits, bias 7, and three mantissa bits. Shifted to the position
        // in a half-precision number, their bias is 15.
        let scale = times(floats_of_halves16(halves), 128)
        return (scale, Rows())
    }
}

// MARK: Ternary codes

enum PackedTernary: PackedWithScale {
    static var segments: Int { 1 }
    static var offset: Float { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { twoBits(planes, step, at: 0) }
}

enum PackedIQ1_S: PackedFormat {
    static var segments: Int { 1 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows { halves(block, 0) }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { twoBits(planes, step, at: 0) }
    @inline(__always)
    static func scales(
        _ shared: Rows, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        let packed = bytes(block + 32, part >> 1)
        let scale = shared * (odd(field(packed, 4 &* (part & 1), 3)))
        // The code is the value plus 1; the shift of ±1/8 goes to the offset.
        let isNegative = floats(unsigned: field(packed, 4 &* (part & 1) &+ 3, 1))
        let shift = multiply_add16(isNegative, Rows(repeating: 0.25), Rows(repeating: 0.875))
        return (scale, scale * shift)
    }
}

// MARK: Grids

/// `2 · scale + 1`.
@inline(__always)
private func odd(_ codes: Bytes) -> Rows {
    multiply_add16(floats(unsigned: codes), Rows(repeating: 2), Rows(repeating: 1))
}

/// 4-bit scales: odd multiples of `unit` times the block's scale. The offset is a multiple of the scale.
protocol PackedWithOddScales: PackedFormat where Shared == Rows {
    static var unit: Float { get }
    static var offset: Float { get }
    /// Scales per 32 columns: 1 or 2.
    static var scalesOfPart: Int { get }
}
extension PackedWithOddScales {
    static var segments: Int { 2 }
    static var scalesOfPart: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> Rows { times(halves(block, 0), unit) }
    @inline(__always)
    static func scales(
        _ shared: Rows, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: Rows, offset: Rows) {
        let index = scalesOfPart == 1 ? part : 2 &* part &+ segment
        let scale = shared * (odd(field(bytes(block + 32, index >> 1), 4 &* (index & 1), 4)))
        return (scale, times(scale, offset))
    }
}

/// Values `8 · (-1, 0 or 1) ± 1`, stored plus 9.
enum PackedIQ1_M: PackedWithOddScales {
    static var unit: Float { 0.125 }
    static var offset: Float { 9 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        or(twoBits(planes, step, at: 3), bits(planes + 128, step, at: 1))
    }
}

/// Values ±8, ±25 and ±43, stored plus 43.
enum PackedIQ2: PackedWithOddScales {
    static var unit: Float { 0.125 }
    static var offset: Float { 43 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        let levels: UInt64 = 0x0000_1223_0056_4433
        let table = unsafeBitCast(SIMD2(levels, 0), to: Bytes.self)
        let (a, b) = or(twoBits(planes, step, at: 0), bits(planes + 128, step, at: 2))
        return (look_up(table, a), look_up(table, b))
    }
}

/// Values ±4, 12, …, 52 and 62, halved, stored plus 31.
enum PackedIQ3_XXS: PackedLevels, PackedWithOddScales {
    static var unit: Float { 0.5 }
    static var offset: Float { 31 }
    static var scalesOfPart: Int { 1 }
    static var levels: (UInt64, UInt64) { (0x3e39_3531_2d29_2521, 0x0005_090d_1115_191d) }
}

/// Values `2 · q - 15`, the odd numbers from -15 to 15.
enum PackedIQ3_S: PackedNibbles, PackedWithOddScales {
    static var segments: Int { 1 }
    static var unit: Float { 2 }
    static var offset: Float { 7.5 }
    static var scalesOfPart: Int { 1 }
}
