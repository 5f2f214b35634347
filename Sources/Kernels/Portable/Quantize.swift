public import KernelFormats
import KernelsFloat

extension TensorType {
    /// Formats that `quantize` supports.
    public static let quantizable: [TensorType] = [
        .F32, .F16, .BF16, .Q4_0, .Q4_1, .Q5_0, .Q5_1, .Q8_0, .Q2_K, .Q3_K, .Q4_K, .Q5_K, .Q6_K, .IQ4_NL, .IQ4_XS,
        .MXFP4,
    ]
}

/// Quantizes `count` values of a row to a format: see `quantizeRow`. Float types ignore the importance.
///
/// - Precondition: `type` is one of `TensorType.quantizable`.
@inline(never)
public func quantize(
    _ type: TensorType, _ source: UnsafePointer<Float>, importance: UnsafePointer<Float>?,
    into destination: UnsafeMutableRawPointer, count: Int
) {
    switch type {
    case .F32: destination.copyMemory(from: source, byteCount: 4 &* count)
    case .F16:
        storeHalf(
            source, into: destination.assumingMemoryBound(to: UInt16.self), stride: 1, count: count)
    case .BF16:
        storeBFloat16(source, into: destination.assumingMemoryBound(to: UInt16.self), count: count)
    default: quantizeRow(EightFloats.self, type, source, importance: importance, into: destination, count: count)
    }
}

/// Stores the nearest bfloat16 values, ties to even; NaN stays NaN.
private func storeBFloat16(
    _ source: UnsafePointer<Float>, into destination: UnsafeMutablePointer<UInt16>, count: Int
) {
    for index in 0..<count {
        let bits = source[index].bitPattern
        let rounded = bits &+ 0x7fff &+ ((bits >> 16) & 1)
        let isNaN = bits & 0x7fff_ffff > 0x7f80_0000
        destination[index] = UInt16(truncatingIfNeeded: (isNaN ? bits | 0x40_0000 : rounded) >> 16)
    }
}

/// The reference of the other tiers' lanes.
struct EightFloats: Lanes {
    let v: SIMD8<Float>
    typealias Integers = SIMD8<UInt32>

    @inline(__always) init(_ v: SIMD8<Float>) { self.v = v }
    @inline(__always) init(_ value: Float) { v = SIMD8(repeating: value) }

    @inline(__always)
    static func load(_ p: UnsafePointer<Float>) -> Self {
        Self(UnsafeRawPointer(p).loadUnaligned(as: SIMD8<Float>.self))
    }

    @inline(__always)
    func store(_ p: UnsafeMutablePointer<Float>) { UnsafeMutableRawPointer(p).storeBytes(of: v, as: SIMD8<Float>.self) }

    @inline(__always)
    func storeHalves(_ p: UnsafeMutablePointer<UInt16>) -> Self {
        var result = v
        for lane in 0..<8 {
            p[lane] = half(v[lane])
            result[lane] = floatFromHalf(p[lane])
        }
        return Self(result)
    }

    @inline(__always) static func + (a: Self, b: Self) -> Self { Self(a.v + b.v) }
    @inline(__always) static func - (a: Self, b: Self) -> Self { Self(a.v - b.v) }
    @inline(__always) static func * (a: Self, b: Self) -> Self { Self(a.v * b.v) }
    @inline(__always) static func / (a: Self, b: Self) -> Self { Self(a.v / b.v) }
    @inline(__always) static func min(_ a: Self, _ b: Self) -> Self { choose(a, below: b, a, else: b) }
    @inline(__always) static func max(_ a: Self, _ b: Self) -> Self { choose(b, below: a, a, else: b) }

    @inline(__always)
    static func choose(_ a: Self, below b: Self, _ x: Self, else y: Self) -> Self {
        Self(y.v.replacing(with: x.v, where: a.v .< b.v))
    }

    /// 1.5 · 2²³: adding it rounds to an integer, ties to even, which is then in the low bits.
    @inline(__always) private static var shift: Float { 12_582_912 }
    @inline(__always) func rounded() -> Self { Self(v + Self.shift - Self.shift) }

    @inline(__always)
    func integers() -> Integers {
        let bounded = Self.max(self, Self(-65536)).v
        return unsafeBitCast(bounded + Self.shift, to: Integers.self) &- Self.shift.bitPattern
    }

    @inline(__always)
    func iq4Level() -> Self {
        var result = SIMD8<Float>(repeating: Float(iq4Levels[0]))
        for index in 1..<16 {
            result.replace(with: Float(iq4Levels[index]), where: Self.border(index) .< v)
        }
        return Self(result)
    }

    @inline(__always)
    func iq4Code() -> Integers {
        var result = Integers()
        for index in 1..<16 { result.replace(with: UInt32(index), where: Self.border(index) .< v) }
        return result
    }

    /// The border between a level and the previous one.
    @inline(__always)
    private static func border(_ index: Int) -> SIMD8<Float> {
        SIMD8(repeating: 0.5 * (Float(iq4Levels[index &- 1]) + Float(iq4Levels[index])))
    }

    @inline(__always)
    func e2m1Level() -> Self {
        let bounded = Self.min(.max(self, Self(-12)), Self(12)).v
        let powers = unsafeBitCast(unsafeBitCast(bounded, to: Integers.self) & 0x7f80_0000, to: SIMD8<Float>.self)
        // A value has two significant bits; below 2, one: it is rounded to a multiple of half its power of two.
        let two = SIMD8<Float>(repeating: 2)
        let shift = powers.replacing(with: two, where: powers .< two) * (0.5 * Self.shift)
        return Self(bounded + shift - shift)
    }

    @inline(__always)
    func e2m1Code() -> Integers {
        let bits = unsafeBitCast(e2m1Level().v, to: Integers.self)
        // Exponent and first mantissa bit: 2 becomes 2, 12 becomes 7.
        let magnitudes = ((bits & 0x7fff_ffff) &>> 22) &- 254
        let small = magnitudes.replacing(with: 1, where: magnitudes .< 2)  // 1 has the exponent 127
        let codes = small.replacing(with: 0, where: (bits & 0x7fff_ffff) .== 0)
        return codes | (codes.replacing(with: 8, where: codes .> 0) & ((bits &>> 31) &* 8))
    }

    @inline(__always)
    static func transpose(_ rows: UnsafePointer<Float>, stride: Int, into columns: UnsafeMutablePointer<Float>) {
        for row in 0..<8 {
            for column in 0..<8 { columns[8 &* column &+ row] = rows[row &* stride &+ column] }
        }
    }

    @inline(__always)
    static func bytes(
        _ a: Integers, _ b: Integers, _ c: Integers, _ d: Integers, bias: Int16, top: UInt8
    ) -> Integers {
        @inline(__always)
        func byte(_ integers: Integers) -> Integers {
            let biased = SIMD8<Int32>(truncatingIfNeeded: integers) &+ Int32(bias)
            let positive = biased.replacing(with: 0, where: biased .< 0)
            return Integers(truncatingIfNeeded: positive.replacing(with: Int32(top), where: positive .> Int32(top)))
        }
        return byte(a) | (byte(b) &<< 8) | (byte(c) &<< 16) | (byte(d) &<< 24)
    }

    @inline(__always)
    static func storeRows(
        _ a: Integers, _ b: Integers, _ c: Integers, _ d: Integers, _ rows: UnsafeMutableRawPointer, stride: Int
    ) {
        for lane in 0..<8 {
            let row = SIMD4(a[lane], b[lane], c[lane], d[lane])
            (rows + lane &* stride).storeBytes(of: row, as: SIMD4<UInt32>.self)
        }
    }

    @inline(__always)
    static func packNibbles(_ codes: UnsafePointer<UInt8>, into bytes: UnsafeMutableRawPointer) {
        for index in 0..<16 {
            let byte = (codes[index] & 15) | codes[16 &+ index] << 4
            bytes.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
        }
    }

    @inline(__always)
    static func fifthBits(_ codes: UnsafePointer<UInt8>) -> UInt32 {
        var bits: UInt32 = 0
        for index in 0..<32 { bits |= UInt32((codes[index] >> 4) & 1) << UInt32(truncatingIfNeeded: index) }
        return bits
    }
}
