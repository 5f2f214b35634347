// Formats with few levels: 4-bit floats, ternary codes, and codes of grid points.

import KernelFormats

// MARK: 4-bit floats

/// `doubledE2M1`.
protocol PackedE2M1: PackedLevels {}
extension PackedE2M1 {
    static var levels: (UInt64, UInt64) { (0x0c08_0604_0302_0100, 0xf4f8_fafc_fdfe_ff00) }
}

enum PackedMXFP4: PackedE2M1 {
    static var format: PackedLayout.Format { .MXFP4 }
    /// Halved: levels are doubled.
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> RowFloats { halvedPowersOfTwo(bytes(block, 0)) }
    @inline(__always)
    static func scales(
        _ shared: RowFloats, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        centered(shared)
    }
}

enum PackedNVFP4: PackedE2M1 {
    static var format: PackedLayout.Format { .NVFP4 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) {}
    @inline(__always)
    static func scales(
        _ shared: Void, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        // Half the values of numbers with four exponent bits, bias 7, and three mantissa bits. Shifted to the position in a
        // half-precision number, their bias is 15.
        centered(times(halvesOfBytes(bytes(block, 2 &* part &+ segment), shiftedBy: 7), 128))
    }
}

// MARK: Ternary codes

enum PackedTernary: PackedWithScale {
    static var format: PackedLayout.Format { .ternary }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { twoBits(planes, step, at: 0) }
}

enum PackedIQ1_S: PackedFormat {
    static var format: PackedLayout.Format { .IQ1_S }
    @inline(__always) static var offsets: Offsets { .ofSegments }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) { twoBits(planes, step, at: 0) }
    @inline(__always)
    static func scales(
        _ shared: RowFloats, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        let packed = bytes(block + 32, part >> 1)
        let scale = times(shared, odd(field(packed, 4 &* (part & 1), 3)))
        // The code is the value plus 1; the shift of ±1/8 goes to the offset.
        let isNegative = floats(unsigned: field(packed, 4 &* (part & 1) &+ 3, 1))
        return (scale, times(scale, multiplyAdd(isNegative, 0.25, 0.875)))
    }
}

// MARK: Grids

/// `2 · scale + 1`.
@inline(__always)
private func odd(_ codes: Bytes) -> RowFloats { multiplyAdd(floats(unsigned: codes), 2, 1) }

/// 4-bit scales: odd multiples of `unit` times the block's scale.
protocol PackedWithOddScales: PackedFormat where Shared == RowFloats {
    static var unit: Float { get }
    /// Scales per 32 columns: 1 or 2.
    static var scalesOfPart: Int { get }
}
extension PackedWithOddScales {
    static var scalesOfPart: Int { 2 }
    @inline(__always)
    static func shared(_ block: UnsafeRawPointer) -> RowFloats { times(halves(block, 0), unit) }
    @inline(__always)
    static func scales(
        _ shared: RowFloats, _ block: UnsafeRawPointer, _ part: Int, _ segment: Int
    ) -> (scale: RowFloats, offset: RowFloats) {
        let index = scalesOfPart == 1 ? part : 2 &* part &+ segment
        return centered(times(shared, odd(field(bytes(block + 32, index >> 1), 4 &* (index & 1), 4))))
    }
}

/// Values `8 · (-1, 0 or 1) ± 1`, stored plus 9.
enum PackedIQ1_M: PackedWithOddScales {
    static var format: PackedLayout.Format { .IQ1_M }
    static var unit: Float { 0.125 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        or(twoBits(planes, step, at: 3), bits(planes + 128, step, at: 1))
    }
}

/// Values ±8, ±25 and ±43.
enum PackedIQ2: PackedSigned, PackedWithOddScales {
    static var format: PackedLayout.Format { .IQ2 }
    static var unit: Float { 0.125 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        let table = table(0x00d5_e7f8_002b_1908, 0)
        let (a, b) = or(twoBits(planes, step, at: 0), bits(planes + 128, step, at: 2))
        return (lookUp(table, a), lookUp(table, b))
    }
}

/// Values ±4, 12, …, 52 and 62, halved.
enum PackedIQ3_XXS: PackedLevels, PackedWithOddScales {
    static var format: PackedLayout.Format { .IQ3_XXS }
    static var unit: Float { 0.5 }
    static var scalesOfPart: Int { 1 }
    static var levels: (UInt64, UInt64) { (0x1f1a_1612_0e0a_0602, 0xe1e6_eaee_f2f6_fafe) }
}

/// Values `2 · q - 15`, the odd numbers from -15 to 15, stored as q.
enum PackedIQ3_S: PackedWithOddScales {
    static var format: PackedLayout.Format { .IQ3_S }
    static var unit: Float { 1 }
    static var scalesOfPart: Int { 1 }
    @inline(__always)
    static func codes(_ planes: UnsafeRawPointer, _ step: Int) -> (Codes, Codes) {
        let (a, b) = nibbles(planes, step)
        return (shift(a, 1), shift(b, 1))
    }
}
