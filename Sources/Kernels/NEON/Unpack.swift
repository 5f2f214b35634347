// Unpacks 32 weights of a block to floats, by format. `KernelFormats` documents the bit layouts.
//
// A group's scale and minimum are applied by one multiply-add per register, so results equal those of
// `KernelsPortable.dequantize`, except for one rounding less if there is a minimum.

import CIntrinsics
import KernelFormats

/// 32 weights of one row.
typealias Weights32 = (Rows, Rows)

/// A format that these kernels read directly.
protocol Format {
    /// Weights per block, and below bytes per block.
    static var values: Int { get }
    static var bytes: Int { get }
    /// Weights `32 · group ..< 32 · group + 32` of the block at `base`.
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32
}

@inline(__always)
private func load16(_ p: UnsafeRawPointer) -> Bytes { p.loadUnaligned(as: Bytes.self) }

@inline(__always)
private func load16(_ p: UnsafePointer<UInt8>) -> Bytes { load16(UnsafeRawPointer(p)) }

@inline(__always)
private func scaled(_ low: Bytes, _ high: Bytes, by s: Float, minus m: Float) -> Weights32 {
    let (s, m) = (Rows(repeating: s), Rows(repeating: -m))
    return (multiply_add16(floats_of_bytes(low), s, m), multiply_add16(floats_of_bytes(high), s, m))
}

/// Signed codes; the first and the last 16 weights have separate scales.
@inline(__always)
private func scaled(signed low: Bytes, _ high: Bytes, by s: Float, _ t: Float) -> Weights32 {
    (
        floats_of_signed_bytes(unsafeBitCast(low, to: SIMD16<Int8>.self)) * s,
        floats_of_signed_bytes(unsafeBitCast(high, to: SIMD16<Int8>.self)) * t
    )
}

@inline(__always)
private func nibbles(_ bytes: Bytes) -> (low: Bytes, high: Bytes) { (bytes & 15, bytes &>> 4) }

/// The low nibbles of each byte, or with `isHigh` the high ones.
@inline(__always)
private func nibbles(_ bytes: Bytes, isHigh: Bool) -> Bytes { isHigh ? bytes &>> 4 : bytes & 15 }

/// 16 for each byte whose bit in `bits` is set, else 0.
@inline(__always)
private func fifthBits(_ bits: UInt32) -> Bytes {
    let select = unsafeBitCast(SIMD2<UInt64>(repeating: 0x8040_2010_0804_0201), to: Bytes.self)
    let low = UInt64(bits & 255) &* 0x0101_0101_0101_0101, high = UInt64(bits >> 8 & 255) &* 0x0101_0101_0101_0101
    return vtstq_u8(unsafeBitCast(SIMD2(low, high), to: Bytes.self), select) & 16
}

/// `value` for each byte that has bit `bit` set, else 0.
@inline(__always)
private func select(_ bytes: Bytes, bit: Int, _ value: UInt8) -> Bytes {
    vtstq_u8(bytes, Bytes(repeating: UInt8(truncatingIfNeeded: 1 &<< bit))) & value
}

/// Two bits of each of 16 bytes, from bit `shift` on.
@inline(__always)
private func pairs(_ bytes: Bytes, _ shift: Int) -> Bytes { (bytes &>> UInt8(truncatingIfNeeded: shift)) & 3 }

// MARK: Floats

enum F32: Format {
    static var values: Int { 32 }
    static var bytes: Int { 128 }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        (base.loadUnaligned(as: Rows.self), (base + 64).loadUnaligned(as: Rows.self))
    }
}

enum F16: Format {
    static var values: Int { 32 }
    static var bytes: Int { 64 }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        (
            floats_of_halves16(base.loadUnaligned(as: SIMD16<UInt16>.self)),
            floats_of_halves16((base + 32).loadUnaligned(as: SIMD16<UInt16>.self))
        )
    }
}

enum BF16: Format {
    static var values: Int { 32 }
    static var bytes: Int { 64 }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 { (widen(base), widen(base + 32)) }
    @inline(__always)
    private static func widen(_ p: UnsafeRawPointer) -> Rows {
        let halves = (p.loadUnaligned(as: SIMD8<UInt16>.self), (p + 16).loadUnaligned(as: SIMD8<UInt16>.self))
        return unsafeBitCast((floats_of_bfloats(halves.0), floats_of_bfloats(halves.1)), to: Rows.self)
    }
}

// MARK: Blocks of 32

enum Q4_0: Format {
    static var values: Int { BlockQ4_0.values }
    static var bytes: Int { BlockQ4_0.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let codes = nibbles(load16(BlockQ4_0(base).qs)), d = half(base)
        return scaled(codes.low, codes.high, by: d, minus: 8 * d)
    }
}

enum Q4_1: Format {
    static var values: Int { BlockQ4_1.values }
    static var bytes: Int { BlockQ4_1.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let codes = nibbles(load16(BlockQ4_1(base).qs))
        return scaled(codes.low, codes.high, by: half(base), minus: -half(base + 2))
    }
}

enum Q5_0: Format {
    static var values: Int { BlockQ5_0.values }
    static var bytes: Int { BlockQ5_0.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let block = BlockQ5_0(base)
        let codes = nibbles(load16(block.qs)), d = half(base)
        return scaled(
            codes.low | fifthBits(block.qh), codes.high | fifthBits(block.qh >> 16), by: d, minus: 16 * d)
    }
}

enum Q5_1: Format {
    static var values: Int { BlockQ5_1.values }
    static var bytes: Int { BlockQ5_1.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let block = BlockQ5_1(base)
        let codes = nibbles(load16(block.qs))
        return scaled(
            codes.low | fifthBits(block.qh), codes.high | fifthBits(block.qh >> 16), by: half(base),
            minus: -half(base + 2))
    }
}

enum Q8_0: Format {
    static var values: Int { BlockQ8_0.values }
    static var bytes: Int { BlockQ8_0.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let d = half(base)
        return scaled(signed: load16(base + 2), load16(base + 18), by: d, d)
    }
}

enum IQ4_NL: Format {
    static var values: Int { BlockIQ4_NL.values }
    static var bytes: Int { BlockIQ4_NL.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let codes = nibbles(load16(BlockIQ4_NL(base).qs)), d = half(base)
        return scaled(signed: level(codes.low), level(codes.high), by: d, d)
    }
    /// `iq4Levels[code]` for each code.
    @inline(__always)
    static func level(_ codes: Bytes) -> Bytes {
        vqtbl1q_u8(
            unsafeBitCast(SIMD2<UInt64>(0xf6ea_ddcf_bfad_9881, 0x7159_4535_2619_0d01), to: Bytes.self), codes)
    }
}

// MARK: Blocks of 256

enum IQ4_XS: Format {
    static var values: Int { BlockIQ4_XS.values }
    static var bytes: Int { BlockIQ4_XS.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let block = BlockIQ4_XS(base)
        let codes = nibbles(load16(block.qs + 16 &* group))
        let scale = half(base) * Float(block.scale(group))
        return scaled(signed: IQ4_NL.level(codes.low), IQ4_NL.level(codes.high), by: scale, scale)
    }
}

enum Q2_K: Format {
    static var values: Int { BlockQ2_K.values }
    static var bytes: Int { BlockQ2_K.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let block = BlockQ2_K(base)
        let qs = block.qs + 32 &* (group &>> 2)
        let shift = 2 &* (group & 3)
        let (d, dmin) = (half(base + 80), half(base + 82))
        let (a, b) = (block.scales[2 &* group], block.scales[2 &* group &+ 1])
        let low = Rows(repeating: -dmin * Float(a >> 4)), high = Rows(repeating: -dmin * Float(b >> 4))
        return (
            multiply_add16(floats_of_bytes(pairs(load16(qs), shift)), Rows(repeating: d * Float(a & 15)), low),
            multiply_add16(floats_of_bytes(pairs(load16(qs + 16), shift)), Rows(repeating: d * Float(b & 15)), high)
        )
    }
}

enum Q3_K: Format {
    static var values: Int { BlockQ3_K.values }
    static var bytes: Int { BlockQ3_K.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let block = BlockQ3_K(base)
        let qs = block.qs + 32 &* (group &>> 2)
        let shift = 2 &* (group & 3)
        let low = pairs(load16(qs), shift) | select(load16(block.hmask), bit: group, 4)
        let high = pairs(load16(qs + 16), shift) | select(load16(block.hmask + 16), bit: group, 4)
        let d = half(base + 108)
        return scaled(
            signed: low &- 4, high &- 4, by: d * Float(block.scale(2 &* group)),
            d * Float(block.scale(2 &* group &+ 1)))
    }
}

enum Q4_K: Format {
    static var values: Int { BlockQ4_K.values }
    static var bytes: Int { BlockQ4_K.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let block = BlockQ4_K(base)
        let qs = block.qs + 32 &* (group &>> 1)
        let isHigh = group & 1 != 0
        return scaled(
            nibbles(load16(qs), isHigh: isHigh), nibbles(load16(qs + 16), isHigh: isHigh),
            by: half(base) * Float(block.scale(group)), minus: half(base + 2) * Float(block.minimum(group)))
    }
}

enum Q5_K: Format {
    static var values: Int { BlockQ5_K.values }
    static var bytes: Int { BlockQ5_K.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let block = BlockQ5_K(base)
        let qs = block.qs + 32 &* (group &>> 1)
        let isHigh = group & 1 != 0
        return scaled(
            nibbles(load16(qs), isHigh: isHigh) | select(load16(block.qh), bit: group, 16),
            nibbles(load16(qs + 16), isHigh: isHigh) | select(load16(block.qh + 16), bit: group, 16),
            by: half(base) * Float(block.scale(group)), minus: half(base + 2) * Float(block.minimum(group)))
    }
}

enum Q6_K: Format {
    static var values: Int { BlockQ6_K.values }
    static var bytes: Int { BlockQ6_K.bytes }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ group: Int) -> Weights32 {
        let block = BlockQ6_K(base)
        let (upper, part) = (group &>> 2, group & 3)
        let ql = block.ql + (64 &* upper &+ 32 &* (part & 1))
        let qh = block.qh + 32 &* upper
        @inline(__always)
        func codes(_ offset: Int) -> Bytes {
            let low = nibbles(load16(ql + offset), isHigh: part >= 2)
            return (low | (pairs(load16(qh + offset), 2 &* part) &<< 4)) &- 32
        }
        let d = half(base + 208)
        return scaled(
            signed: codes(0), codes(16), by: d * Float(block.scales[2 &* group]),
            d * Float(block.scales[2 &* group &+ 1]))
    }
}
