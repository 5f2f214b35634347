// Unpacks 32 weights of a block to floats, by format. `KernelFormats` documents the bit layouts.
//
// A group's scale and minimum are applied by one multiply-add per register, so results equal those of
// `KernelsPortable.dequantize`, except for one rounding less if there is a minimum.

import CIntrinsics
import KernelFormats

/// A format that these kernels read directly.
protocol Format {
    /// Scales shared by the groups of a block, read once per block.
    associatedtype Scales
    /// Weights per block, and below bytes per block.
    static var values: Int { get }
    static var bytes: Int { get }
    static func scales(_ base: UnsafeRawPointer) -> Scales
    /// Weights `32 · group ..< 32 · group + 32` of the block at `base`.
    static func unpack(_ base: UnsafeRawPointer, _ scales: Scales, _ group: Int) -> Weights32
}

/// Formats without scales.
extension Format where Scales == Void {
    @inline(__always) static func scales(_ base: UnsafeRawPointer) {}
}

/// The half-precision number at `p`.
@inline(__always)
func half(_ p: UnsafeRawPointer) -> Float {
    _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(Int32(p.loadUnaligned(as: UInt16.self)))))
}

/// Converts eight bytes to floats, times a factor.
@inline(__always)
private func floats(unsigned bytes: UInt64, times factor: Float) -> __m256 {
    let codes = _mm_cvtsi64_si128(Int64(bitPattern: bytes))
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(codes)), _mm256_set1_ps(factor))
}

@inline(__always)
private func floats(signed bytes: UInt64, times factor: Float) -> __m256 {
    let codes = _mm_cvtsi64_si128(Int64(bitPattern: bytes))
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)), _mm256_set1_ps(factor))
}

/// Broadcasts lane `index` to all lanes.
@inline(__always)
func lane(_ v: __m256, _ index: Int) -> __m256 {
    _mm256_permutevar8x32_ps(v, _mm256_set1_epi32(Int32(truncatingIfNeeded: index)))
}

@inline(__always)
private func scaled(_ low: __m128i, _ high: __m128i, by s: __m256, minus m: __m256) -> Weights32 {
    let (a, b) = floats(unsigned: low)
    let (c, d) = floats(unsigned: high)
    return (_mm256_fmsub_ps(a, s, m), _mm256_fmsub_ps(b, s, m), _mm256_fmsub_ps(c, s, m), _mm256_fmsub_ps(d, s, m))
}

/// Signed codes; the first and the last 16 weights have separate scales.
@inline(__always)
private func scaled(signed low: __m128i, _ high: __m128i, by s: __m256, _ t: __m256) -> Weights32 {
    let (a, b) = floats(signed: low)
    let (c, d) = floats(signed: high)
    return (_mm256_mul_ps(a, s), _mm256_mul_ps(b, s), _mm256_mul_ps(c, t), _mm256_mul_ps(d, t))
}

@inline(__always)
private func nibbles(_ bytes: __m128i) -> (low: __m128i, high: __m128i) {
    let mask = _mm_set1_epi8(15)
    return (_mm_and_si128(bytes, mask), _mm_and_si128(_mm_srli_epi16(bytes, 4), mask))
}

/// 16 for each byte whose bit in `bits` is set, else 0.
@inline(__always)
private func fifthBits(_ bits: UInt32) -> __m128i {
    let spread = _mm_shuffle_epi8(
        _mm_cvtsi32_si128(Int32(bitPattern: bits)),
        _mm_set_epi8(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0))
    let select = _mm_set1_epi64x(Int64(bitPattern: 0x8040_2010_0804_0201))
    let isSet = _mm_cmpeq_epi8(_mm_and_si128(spread, select), select)
    return _mm_and_si128(isSet, _mm_set1_epi8(16))
}

/// Scale and minimum for codes that represent their value plus `offset`.
@inline(__always)
private func symmetric(_ d: Float, _ offset: Float) -> (scale: __m256, minimum: __m256) {
    (_mm256_set1_ps(d), _mm256_set1_ps(d * offset))
}

/// The eight 6-bit scales and minimums of Q4_K and Q5_K, one byte each; see `packedScale` for the bit layout.
private struct SixBitScales {
    let scales: UInt64
    let minimums: UInt64

    @inline(__always)
    init(_ bytes: UnsafePointer<UInt8>) {
        let raw = UnsafeRawPointer(bytes)
        let low = UInt64(raw.loadUnaligned(as: UInt32.self))
        let middle = UInt64((raw + 4).loadUnaligned(as: UInt32.self))
        let high = UInt64((raw + 8).loadUnaligned(as: UInt32.self))
        let (six, four, two) = (0x3f3f_3f3f as UInt64, 0x0f0f_0f0f as UInt64, 0x3030_3030 as UInt64)
        scales = (low & six) | (((high & four) | ((low >> 2) & two)) << 32)
        minimums = (middle & six) | ((((high >> 4) & four) | ((middle >> 2) & two)) << 32)
    }
}

enum F32: Format {
    static var values: Int { 32 }
    static var bytes: Int { 128 }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: Void, _ group: Int) -> Weights32 {
        let p = base.assumingMemoryBound(to: Float.self)
        return (load(p), load(p + 8), load(p + 16), load(p + 24))
    }
}

enum F16: Format {
    static var values: Int { 32 }
    static var bytes: Int { 64 }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: Void, _ group: Int) -> Weights32 {
        (loadHalves(base), loadHalves(base + 16), loadHalves(base + 32), loadHalves(base + 48))
    }
}

enum BF16: Format {
    static var values: Int { 32 }
    static var bytes: Int { 64 }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: Void, _ group: Int) -> Weights32 {
        (widen(base), widen(base + 16), widen(base + 32), widen(base + 48))
    }
    @inline(__always)
    private static func widen(_ p: UnsafeRawPointer) -> __m256 {
        _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16Bytes(p)), 16))
    }
}

enum Q4_0: Format {
    static var values: Int { BlockQ4_0.values }
    static var bytes: Int { BlockQ4_0.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (scale: __m256, minimum: __m256) { symmetric(half(base), 8) }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (scale: __m256, minimum: __m256), _ group: Int) -> Weights32
    {
        let block = BlockQ4_0(base)
        let codes = nibbles(load16Bytes(block.qs))
        return scaled(codes.low, codes.high, by: scales.scale, minus: scales.minimum)
    }
}

enum Q4_1: Format {
    static var values: Int { BlockQ4_1.values }
    static var bytes: Int { BlockQ4_1.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (scale: __m256, minimum: __m256) {
        (_mm256_set1_ps(half(base)), _mm256_set1_ps(-half(base + 2)))
    }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (scale: __m256, minimum: __m256), _ group: Int) -> Weights32
    {
        let block = BlockQ4_1(base)
        let codes = nibbles(load16Bytes(block.qs))
        return scaled(codes.low, codes.high, by: scales.scale, minus: scales.minimum)
    }
}

enum Q5_0: Format {
    static var values: Int { BlockQ5_0.values }
    static var bytes: Int { BlockQ5_0.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (scale: __m256, minimum: __m256) { symmetric(half(base), 16) }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (scale: __m256, minimum: __m256), _ group: Int) -> Weights32
    {
        let block = BlockQ5_0(base)
        let codes = nibbles(load16Bytes(block.qs))
        return scaled(
            _mm_or_si128(codes.low, fifthBits(block.qh)), _mm_or_si128(codes.high, fifthBits(block.qh >> 16)),
            by: scales.scale, minus: scales.minimum)
    }
}

enum Q5_1: Format {
    static var values: Int { BlockQ5_1.values }
    static var bytes: Int { BlockQ5_1.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (scale: __m256, minimum: __m256) {
        (_mm256_set1_ps(half(base)), _mm256_set1_ps(-half(base + 2)))
    }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (scale: __m256, minimum: __m256), _ group: Int) -> Weights32
    {
        let block = BlockQ5_1(base)
        let codes = nibbles(load16Bytes(block.qs))
        return scaled(
            _mm_or_si128(codes.low, fifthBits(block.qh)), _mm_or_si128(codes.high, fifthBits(block.qh >> 16)),
            by: scales.scale, minus: scales.minimum)
    }
}

enum Q8_0: Format {
    static var values: Int { BlockQ8_0.values }
    static var bytes: Int { BlockQ8_0.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> __m256 { _mm256_set1_ps(half(base)) }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: __m256, _ group: Int) -> Weights32 {
        let block = BlockQ8_0(base)
        return scaled(signed: load16Bytes(block.qs), load16Bytes(block.qs + 16), by: scales, scales)
    }
}

enum IQ4_NL: Format {
    static var values: Int { BlockIQ4_NL.values }
    static var bytes: Int { BlockIQ4_NL.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> __m256 { _mm256_set1_ps(half(base)) }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: __m256, _ group: Int) -> Weights32 {
        let block = BlockIQ4_NL(base)
        let codes = nibbles(load16Bytes(block.qs))
        return scaled(signed: level(codes.low), level(codes.high), by: scales, scales)
    }
    /// `iq4Levels[code]` for each code.
    @inline(__always)
    static func level(_ codes: __m128i) -> __m128i {
        _mm_shuffle_epi8(_mm_set_epi8(113, 89, 69, 53, 38, 25, 13, 1, -10, -22, -35, -49, -65, -83, -104, -127), codes)
    }
}

enum IQ4_XS: Format {
    static var values: Int { BlockIQ4_XS.values }
    static var bytes: Int { BlockIQ4_XS.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> Float { half(base) }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: Float, _ group: Int) -> Weights32 {
        let block = BlockIQ4_XS(base)
        let codes = nibbles(load16Bytes(block.qs + 16 &* group))
        let scale = _mm256_set1_ps(scales * Float(block.scale(group)))
        return scaled(signed: IQ4_NL.level(codes.low), IQ4_NL.level(codes.high), by: scale, scale)
    }
}

/// Two bits of each of 16 bytes, from bit `shift` on.
@inline(__always)
private func pairs(_ bytes: __m128i, _ shift: Int) -> __m128i {
    _mm_and_si128(_mm_srl_epi16(bytes, _mm_cvtsi32_si128(Int32(truncatingIfNeeded: shift))), _mm_set1_epi8(3))
}

/// `value` for each byte that has bit `bit` set, else 0.
@inline(__always)
private func select(_ bytes: __m128i, bit: Int, _ value: Int8) -> __m128i {
    let mask = _mm_set1_epi8(Int8(truncatingIfNeeded: 1 &<< bit))
    return _mm_and_si128(_mm_cmpeq_epi8(_mm_and_si128(bytes, mask), mask), _mm_set1_epi8(value))
}

enum Q2_K: Format {
    static var values: Int { BlockQ2_K.values }
    static var bytes: Int { BlockQ2_K.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (s0: __m256, s1: __m256, m0: __m256, m1: __m256) {
        let (first, second) = (base.loadUnaligned(as: UInt64.self), (base + 8).loadUnaligned(as: UInt64.self))
        let (d, dmin) = (half(base + 80), half(base + 82))
        let nibbles: UInt64 = 0x0f0f_0f0f_0f0f_0f0f
        return (
            floats(unsigned: first & nibbles, times: d), floats(unsigned: second & nibbles, times: d),
            floats(unsigned: (first >> 4) & nibbles, times: dmin),
            floats(unsigned: (second >> 4) & nibbles, times: dmin)
        )
    }
    @inline(__always)
    static func unpack(
        _ base: UnsafeRawPointer, _ scales: (s0: __m256, s1: __m256, m0: __m256, m1: __m256), _ group: Int
    ) -> Weights32 {
        let qs = BlockQ2_K(base).qs + 32 &* (group &>> 2)
        let shift = 2 &* (group & 3)
        let (a, b) = floats(unsigned: pairs(load16Bytes(qs), shift))
        let (c, d) = floats(unsigned: pairs(load16Bytes(qs + 16), shift))
        let (scale, minimum) = group < 4 ? (scales.s0, scales.m0) : (scales.s1, scales.m1)
        let (s, m) = (lane(scale, shift), lane(minimum, shift))
        let (t, n) = (lane(scale, shift &+ 1), lane(minimum, shift &+ 1))
        return (_mm256_fmsub_ps(a, s, m), _mm256_fmsub_ps(b, s, m), _mm256_fmsub_ps(c, t, n), _mm256_fmsub_ps(d, t, n))
    }
}

enum Q3_K: Format {
    static var values: Int { BlockQ3_K.values }
    static var bytes: Int { BlockQ3_K.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (__m256, __m256) {
        let packed = UnsafeRawPointer(BlockQ3_K(base).scales)
        let low = packed.loadUnaligned(as: UInt64.self)
        let high = UInt64((packed + 8).loadUnaligned(as: UInt32.self))
        // Each scale has four bits in the first eight bytes and two in the last four; 32 is subtracted.
        let (nibbles, pairs) = (0x0f0f_0f0f_0f0f_0f0f as UInt64, 0x0303_0303 as UInt64)
        let first = (low & nibbles) | ((high & pairs) << 4) | (((high >> 2) & pairs) << 36)
        let second = ((low >> 4) & nibbles) | (((high >> 4) & pairs) << 4) | (((high >> 6) & pairs) << 36)
        let d = half(base + 108)
        let bias = _mm256_set1_ps(32 * d)
        return (
            _mm256_sub_ps(floats(unsigned: first, times: d), bias),
            _mm256_sub_ps(floats(unsigned: second, times: d), bias)
        )
    }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (__m256, __m256), _ group: Int) -> Weights32 {
        let block = BlockQ3_K(base)
        let qs = block.qs + 32 &* (group &>> 2)
        let shift = 2 &* (group & 3)
        let four = _mm_set1_epi8(4)
        let half = group < 4 ? scales.0 : scales.1
        let low = _mm_or_si128(pairs(load16Bytes(qs), shift), select(load16Bytes(block.hmask), bit: group, 4))
        let high = _mm_or_si128(
            pairs(load16Bytes(qs + 16), shift), select(load16Bytes(block.hmask + 16), bit: group, 4))
        return scaled(
            signed: _mm_sub_epi8(low, four), _mm_sub_epi8(high, four), by: lane(half, 2 &* (group & 3)),
            lane(half, 2 &* (group & 3) &+ 1))
    }
}

enum Q4_K: Format {
    static var values: Int { BlockQ4_K.values }
    static var bytes: Int { BlockQ4_K.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (scale: __m256, minimum: __m256) {
        let block = BlockQ4_K(base)
        let packed = SixBitScales(block.scales)
        return (
            floats(unsigned: packed.scales, times: half(base)), floats(unsigned: packed.minimums, times: half(base + 2))
        )
    }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (scale: __m256, minimum: __m256), _ group: Int) -> Weights32
    {
        let block = BlockQ4_K(base)
        let qs = block.qs + 32 &* (group &>> 1)
        let shift = _mm_cvtsi32_si128(Int32(truncatingIfNeeded: 4 &* (group & 1)))
        let mask = _mm_set1_epi8(15)
        return scaled(
            _mm_and_si128(_mm_srl_epi16(load16Bytes(qs), shift), mask),
            _mm_and_si128(_mm_srl_epi16(load16Bytes(qs + 16), shift), mask),
            by: lane(scales.scale, group), minus: lane(scales.minimum, group))
    }
}

enum Q5_K: Format {
    static var values: Int { BlockQ5_K.values }
    static var bytes: Int { BlockQ5_K.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (scale: __m256, minimum: __m256) {
        let block = BlockQ5_K(base)
        let packed = SixBitScales(block.scales)
        return (
            floats(unsigned: packed.scales, times: half(base)), floats(unsigned: packed.minimums, times: half(base + 2))
        )
    }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (scale: __m256, minimum: __m256), _ group: Int) -> Weights32
    {
        let block = BlockQ5_K(base)
        let qs = block.qs + 32 &* (group &>> 1)
        let shift = _mm_cvtsi32_si128(Int32(truncatingIfNeeded: 4 &* (group & 1)))
        let mask = _mm_set1_epi8(15)
        let low = _mm_and_si128(_mm_srl_epi16(load16Bytes(qs), shift), mask)
        let high = _mm_and_si128(_mm_srl_epi16(load16Bytes(qs + 16), shift), mask)
        return scaled(
            _mm_or_si128(low, select(load16Bytes(block.qh), bit: group, 16)),
            _mm_or_si128(high, select(load16Bytes(block.qh + 16), bit: group, 16)),
            by: lane(scales.scale, group), minus: lane(scales.minimum, group))
    }
}

enum Q6_K: Format {
    static var values: Int { BlockQ6_K.values }
    static var bytes: Int { BlockQ6_K.bytes }
    @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (__m256, __m256) {
        let scales = UnsafeRawPointer(BlockQ6_K(base).scales)
        let d = half(base + 208)
        return (
            floats(signed: scales.loadUnaligned(as: UInt64.self), times: d),
            floats(signed: (scales + 8).loadUnaligned(as: UInt64.self), times: d)
        )
    }
    @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (__m256, __m256), _ group: Int) -> Weights32 {
        let block = BlockQ6_K(base)
        let (upper, part) = (group &>> 2, group & 3)
        let ql = block.ql + (64 &* upper &+ 32 &* (part & 1))
        let qh = block.qh + 32 &* upper
        let shift = _mm_cvtsi32_si128(Int32(truncatingIfNeeded: 4 &* (part &>> 1)))
        let (mask, bias) = (_mm_set1_epi8(15), _mm_set1_epi8(32))
        @inline(__always)
        func codes(_ offset: Int) -> __m128i {
            let low = _mm_and_si128(_mm_srl_epi16(load16Bytes(ql + offset), shift), mask)
            let high = _mm_slli_epi16(pairs(load16Bytes(qh + offset), 2 &* part), 4)
            return _mm_sub_epi8(_mm_or_si128(low, high), bias)
        }
        let half = upper == 0 ? scales.0 : scales.1
        return scaled(
            signed: codes(0), codes(16), by: lane(half, 2 &* part), lane(half, 2 &* part &+ 1))
    }
}
