// As Unpack.swift, for blocks of 256 weights.

public import KernelFormats

@usableFromInline
enum UnpackIQ4_XS<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockIQ4_XS.values }
    @inlinable @inline(__always) static var bytes: Int { BlockIQ4_XS.bytes }
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> V { .half(base) }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: V, _ group: Int) -> Weights32<V> {
        let block = BlockIQ4_XS(base)
        let codes = V.Codes.load(block.qs + 16 &* group)
        let scale = scales * V(Float(block.scale(group)))
        return scaled(signed: codes.lowNibbles.iq4Levels(), codes.highNibbles.iq4Levels(), by: scale, scale)
    }
}

@usableFromInline
enum UnpackQ2_K<V: BlockVector>: BlockFormat {
    @usableFromInline typealias Scales = (ScaleAndOffset<V>, ScaleAndOffset<V>)
    @inlinable @inline(__always) static var values: Int { BlockQ2_K.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ2_K.bytes }
    /// The first and the last eight scales.
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> Scales {
        let (first, second) = (base.loadUnaligned(as: UInt64.self), (base + 8).loadUnaligned(as: UInt64.self))
        let (d, minus) = (V.half(base + 80), V.half(base + 82) * V(-1))
        let nibbles: UInt64 = 0x0f0f_0f0f_0f0f_0f0f
        return (
            ScaleAndOffset(
                .floats(unsigned: first & nibbles) * d, .floats(unsigned: (first >> 4) & nibbles) * minus),
            ScaleAndOffset(
                .floats(unsigned: second & nibbles) * d, .floats(unsigned: (second >> 4) & nibbles) * minus)
        )
    }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: Scales, _ group: Int) -> Weights32<V> {
        let qs = UnsafeRawPointer(BlockQ2_K(base).qs + 32 &* (group &>> 2))
        let shift = 2 &* (group & 3)
        let half = group < 4 ? scales.0 : scales.1
        return scaled(
            unsigned: V.Codes.load(qs).bits(from: shift, mask: 3), V.Codes.load(qs + 16).bits(from: shift, mask: 3),
            by: half.lane(shift), half.lane(shift &+ 1))
    }
}

@usableFromInline
enum UnpackQ3_K<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockQ3_K.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ3_K.bytes }
    /// The first and the last eight scales.
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (V, V) {
        let packed = UnsafeRawPointer(BlockQ3_K(base).scales)
        let low = packed.loadUnaligned(as: UInt64.self)
        let high = UInt64((packed + 8).loadUnaligned(as: UInt32.self))
        // Each scale has four bits in the first eight bytes and two in the last four; 32 is subtracted.
        let (nibbles, pairs) = (0x0f0f_0f0f_0f0f_0f0f as UInt64, 0x0303_0303 as UInt64)
        let first = (low & nibbles) | ((high & pairs) << 4) | (((high >> 2) & pairs) << 36)
        let second = ((low >> 4) & nibbles) | (((high >> 4) & pairs) << 4) | (((high >> 6) & pairs) << 36)
        let d = V.half(base + 108)
        let bias = d * V(32)
        return (V.floats(unsigned: first) * d - bias, V.floats(unsigned: second) * d - bias)
    }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (V, V), _ group: Int) -> Weights32<V> {
        let block = BlockQ3_K(base)
        let shift = 2 &* (group & 3)
        @inline(__always)
        func codes(_ offset: Int) -> V.Codes {
            let low = V.Codes.load(block.qs + (32 &* (group &>> 2) &+ offset)).bits(from: shift, mask: 3)
            return (low | V.Codes.load(block.hmask + offset).selecting(4, whereBit: group)).subtracting(4)
        }
        let half = group < 4 ? scales.0 : scales.1
        return scaled(signed: codes(0), codes(16), by: half.lane(shift), half.lane(shift &+ 1))
    }
}

/// What Q4_K and Q5_K have in common: eight 6-bit scales and minimums behind their factors, and codes with low nibbles.
@usableFromInline
protocol SixBitScales: BlockFormat where Scales == ScaleAndOffset<V> {}

extension SixBitScales {
    /// See `packedScale` for the bit layout.
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> ScaleAndOffset<V> {
        let packed = base + 4
        let low = UInt64(packed.loadUnaligned(as: UInt32.self))
        let middle = UInt64((packed + 4).loadUnaligned(as: UInt32.self))
        let high = UInt64((packed + 8).loadUnaligned(as: UInt32.self))
        let (six, four, two) = (0x3f3f_3f3f as UInt64, 0x0f0f_0f0f as UInt64, 0x3030_3030 as UInt64)
        let scales = (low & six) | (((high & four) | ((low >> 2) & two)) << 32)
        let minimums = (middle & six) | ((((high >> 4) & four) | ((middle >> 2) & two)) << 32)
        let (d, dmin) = (V.half(base), V.half(base + 2))
        return ScaleAndOffset(.floats(unsigned: scales) * d, .floats(unsigned: minimums) * (dmin * V(-1)))
    }

    /// The low four bits of the codes of 16 weights, from `offset` on in their group.
    @inlinable @inline(__always)
    static func nibbles(_ qs: UnsafePointer<UInt8>, _ group: Int, _ offset: Int) -> V.Codes {
        V.Codes.load(qs + (32 &* (group &>> 1) &+ offset)).bits(from: 4 &* (group & 1), mask: 15)
    }
}

@usableFromInline
enum UnpackQ4_K<V: BlockVector>: SixBitScales {
    @inlinable @inline(__always) static var values: Int { BlockQ4_K.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ4_K.bytes }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: ScaleAndOffset<V>, _ group: Int) -> Weights32<V> {
        let (qs, scale) = (BlockQ4_K(base).qs, scales.lane(group))
        return scaled(unsigned: nibbles(qs, group, 0), nibbles(qs, group, 16), by: scale, scale)
    }
}

@usableFromInline
enum UnpackQ5_K<V: BlockVector>: SixBitScales {
    @inlinable @inline(__always) static var values: Int { BlockQ5_K.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ5_K.bytes }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: ScaleAndOffset<V>, _ group: Int) -> Weights32<V> {
        let block = BlockQ5_K(base)
        @inline(__always)
        func codes(_ offset: Int) -> V.Codes {
            nibbles(block.qs, group, offset) | V.Codes.load(block.qh + offset).selecting(16, whereBit: group)
        }
        let scale = scales.lane(group)
        return scaled(unsigned: codes(0), codes(16), by: scale, scale)
    }
}

@usableFromInline
enum UnpackQ6_K<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockQ6_K.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ6_K.bytes }
    /// The first and the last eight scales.
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> (V, V) {
        let scales = UnsafeRawPointer(BlockQ6_K(base).scales)
        let d = V.half(base + 208)
        return (
            V.floats(signed: scales.loadUnaligned(as: UInt64.self)) * d,
            V.floats(signed: (scales + 8).loadUnaligned(as: UInt64.self)) * d
        )
    }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: (V, V), _ group: Int) -> Weights32<V> {
        let block = BlockQ6_K(base)
        let (upper, part) = (group &>> 2, group & 3)
        @inline(__always)
        func codes(_ offset: Int) -> V.Codes {
            let ql = V.Codes.load(block.ql + (64 &* upper &+ 32 &* (part & 1) &+ offset))
            let qh = V.Codes.load(block.qh + (32 &* upper &+ offset))
            let low = ql.bits(from: 4 &* (part &>> 1), mask: 15)
            return (low | qh.bits(from: 2 &* part, mask: 3).timesSixteen()).subtracting(32)
        }
        let half = upper == 0 ? scales.0 : scales.1
        return scaled(signed: codes(0), codes(16), by: half.lane(2 &* part), half.lane(2 &* part &+ 1))
    }
}
