// Unpacks 32 weights of a block to floats, by format. `KernelFormats` documents the bit layouts.
//
// A group's scale and minimum are applied by one multiply-add per vector, so results equal those of
// `KernelsPortable.dequantize`, except for one rounding less if there is a minimum.

public import KernelFormats

/// 32 weights of one row.
@usableFromInline
typealias Weights32<V: BlockVector> = VectorPair<VectorPair<V>>

/// A format that is unpacked by vectors.
@usableFromInline
protocol BlockFormat {
    associatedtype V: BlockVector
    /// Scales shared by the groups of a block, read once per block.
    associatedtype Scales
    /// Weights per block, and below bytes per block.
    static var values: Int { get }
    static var bytes: Int { get }
    static func scales(_ base: UnsafeRawPointer) -> Scales
    /// Weights `32 · group ..< 32 · group + 32` of the block at `base`.
    static func unpack(_ base: UnsafeRawPointer, _ scales: Scales, _ group: Int) -> Weights32<V>
}

/// A scale, and what is added: minus the minimum.
@usableFromInline
struct ScaleAndOffset<V: BlockVector> {
    @usableFromInline let scale: V
    @usableFromInline let offset: V

    @inlinable @inline(__always)
    init(_ scale: V, _ offset: V) { (self.scale, self.offset) = (scale, offset) }

    /// For codes that represent their value plus `zero`.
    @inlinable @inline(__always)
    init(_ d: V, zero: Float) { self.init(d, d * V(-zero)) }

    @inlinable @inline(__always)
    func lane(_ index: Int) -> Self { Self(scale.lane(index), offset.lane(index)) }
}

/// The first 16 weights have the scale `s`, the last 16 `t`.
@inlinable @inline(__always)
func scaled<V: BlockVector>(
    unsigned low: V.Codes, _ high: V.Codes, by s: ScaleAndOffset<V>, _ t: ScaleAndOffset<V>
) -> Weights32<V> {
    let (a, b) = V.floats(unsigned: low)
    let (c, d) = V.floats(unsigned: high)
    return Weights32(
        VectorPair(.multiplyAdd(a, s.scale, s.offset), .multiplyAdd(b, s.scale, s.offset)),
        VectorPair(.multiplyAdd(c, t.scale, t.offset), .multiplyAdd(d, t.scale, t.offset)))
}

@inlinable @inline(__always)
func scaled<V: BlockVector>(signed low: V.Codes, _ high: V.Codes, by s: V, _ t: V) -> Weights32<V> {
    let (a, b) = V.floats(signed: low)
    let (c, d) = V.floats(signed: high)
    return Weights32(VectorPair(a * s, b * s), VectorPair(c * t, d * t))
}

/// Codes of five bits: the low nibbles of 16 bytes, then the high ones, and a bit of `fifths` each.
@inlinable @inline(__always)
func scaled<V: BlockVector>(
    fiveBits nibbles: UnsafePointer<UInt8>, _ fifths: UInt32, by s: ScaleAndOffset<V>
) -> Weights32<V> {
    let codes = V.Codes.load(nibbles)
    return scaled(
        unsigned: codes.lowNibbles | V.Codes(sixteenWhereSet: fifths),
        codes.highNibbles | V.Codes(sixteenWhereSet: fifths >> 16), by: s, s)
}

/// Formats without scales.
extension BlockFormat where Scales == Void {
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) {}
}

@usableFromInline
enum UnpackNumbers<V: BlockVector, Numbers: NumberFormat>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { 32 }
    @inlinable @inline(__always) static var bytes: Int { 32 &* Numbers.bytes }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: Void, _ group: Int) -> Weights32<V> { Numbers.load(base) }
}

// MARK: Blocks of 32

@usableFromInline
enum UnpackQ4_0<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockQ4_0.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ4_0.bytes }
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> ScaleAndOffset<V> { ScaleAndOffset(.half(base), zero: 8) }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: ScaleAndOffset<V>, _ group: Int) -> Weights32<V> {
        let codes = V.Codes.load(BlockQ4_0(base).qs)
        return scaled(unsigned: codes.lowNibbles, codes.highNibbles, by: scales, scales)
    }
}

@usableFromInline
enum UnpackQ4_1<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockQ4_1.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ4_1.bytes }
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> ScaleAndOffset<V> { ScaleAndOffset(.half(base), .half(base + 2)) }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: ScaleAndOffset<V>, _ group: Int) -> Weights32<V> {
        let codes = V.Codes.load(BlockQ4_1(base).qs)
        return scaled(unsigned: codes.lowNibbles, codes.highNibbles, by: scales, scales)
    }
}

@usableFromInline
enum UnpackQ5_0<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockQ5_0.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ5_0.bytes }
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> ScaleAndOffset<V> { ScaleAndOffset(.half(base), zero: 16) }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: ScaleAndOffset<V>, _ group: Int) -> Weights32<V> {
        let block = BlockQ5_0(base)
        return scaled(fiveBits: block.qs, block.qh, by: scales)
    }
}

@usableFromInline
enum UnpackQ5_1<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockQ5_1.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ5_1.bytes }
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> ScaleAndOffset<V> { ScaleAndOffset(.half(base), .half(base + 2)) }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: ScaleAndOffset<V>, _ group: Int) -> Weights32<V> {
        let block = BlockQ5_1(base)
        return scaled(fiveBits: block.qs, block.qh, by: scales)
    }
}

@usableFromInline
enum UnpackQ8_0<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockQ8_0.values }
    @inlinable @inline(__always) static var bytes: Int { BlockQ8_0.bytes }
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> V { .half(base) }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: V, _ group: Int) -> Weights32<V> {
        let codes = UnsafeRawPointer(BlockQ8_0(base).qs)
        return scaled(signed: .load(codes), .load(codes + 16), by: scales, scales)
    }
}

@usableFromInline
enum UnpackIQ4_NL<V: BlockVector>: BlockFormat {
    @inlinable @inline(__always) static var values: Int { BlockIQ4_NL.values }
    @inlinable @inline(__always) static var bytes: Int { BlockIQ4_NL.bytes }
    @inlinable @inline(__always)
    static func scales(_ base: UnsafeRawPointer) -> V { .half(base) }
    @inlinable @inline(__always)
    static func unpack(_ base: UnsafeRawPointer, _ scales: V, _ group: Int) -> Weights32<V> {
        let codes = V.Codes.load(BlockIQ4_NL(base).qs)
        return scaled(signed: codes.lowNibbles.iq4Levels(), codes.highNibbles.iq4Levels(), by: scales, scales)
    }
}
