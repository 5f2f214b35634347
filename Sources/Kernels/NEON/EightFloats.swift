import CIntrinsics
import KernelsFloat

/// Eight floats in two registers.
struct EightFloats: BlockVector {
    typealias Codes = SixteenBytes
    let v: Floats

    @inline(__always) init(_ v: Floats) { self.v = v }
    @inline(__always) init(_ value: Float) { v = Floats(repeating: value) }

    @inline(__always)
    static func load(_ p: UnsafePointer<Float>) -> Self {
        Self(UnsafeRawPointer(p).loadUnaligned(as: Floats.self))
    }

    @inline(__always)
    func store(_ p: UnsafeMutablePointer<Float>) { UnsafeMutableRawPointer(p).storeBytes(of: v, as: Floats.self) }

    @inline(__always) static func + (a: Self, b: Self) -> Self { Self(a.v + b.v) }
    @inline(__always) static func - (a: Self, b: Self) -> Self { Self(a.v - b.v) }
    @inline(__always) static func * (a: Self, b: Self) -> Self { Self(a.v * b.v) }
    @inline(__always) static func / (a: Self, b: Self) -> Self { Self(a.v / b.v) }
    @inline(__always) static func min(_ a: Self, _ b: Self) -> Self { Self(minimum_of(a.v, b.v)) }
    @inline(__always) static func max(_ a: Self, _ b: Self) -> Self { Self(maximum_of(a.v, b.v)) }
    @inline(__always) func rounded() -> Self { Self(round_to_nearest(v)) }

    @inline(__always) static var count: Int { 8 }
    @inline(__always) static var indices: Self { Self(Floats(0, 1, 2, 3, 4, 5, 6, 7)) }

    @inline(__always)
    static func loadHalves(_ p: UnsafeRawPointer) -> Self {
        Self(floats_of_halves(p.loadUnaligned(as: SIMD8<UInt16>.self)))
    }

    @inline(__always)
    static func loadBFloats(_ p: UnsafeRawPointer) -> Self {
        Self(floats_of_bfloats(p.loadUnaligned(as: SIMD8<UInt16>.self)))
    }

    @inline(__always)
    static func multiplyAdd(_ a: Self, _ b: Self, _ c: Self) -> Self { Self(multiply_add(a.v, b.v, c.v)) }

    @inline(__always)
    func scaled(byPowerOfTwo n: Self) -> Self {
        Self(v * unsafeBitCast((nearest_ints(n.v) &+ 127) &<< 23, to: Floats.self))
    }

    @inline(__always)
    func zeroed(where x: Self, isBelow low: Self) -> Self { Self(zero_below(x.v, low.v, v)) }

    @inline(__always) var first: Float { v[0] }
    @inline(__always) var sum: Float { KernelsNEON.sum(v) }
    @inline(__always) var largest: Float { largest_of(v) }

    @inline(__always)
    static func floats(unsigned codes: Codes) -> (Self, Self) { pair(floats_of_bytes(codes.v)) }

    @inline(__always)
    static func floats(signed codes: Codes) -> (Self, Self) {
        pair(floats_of_signed_bytes(unsafeBitCast(codes.v, to: SIMD16<Int8>.self)))
    }

    @inline(__always)
    static func floats(unsigned bytes: UInt64) -> Self { floats(unsigned: eight(bytes)).0 }

    @inline(__always)
    static func floats(signed bytes: UInt64) -> Self { floats(signed: eight(bytes)).0 }

    @inline(__always)
    private static func eight(_ bytes: UInt64) -> Codes { Codes(unsafeBitCast(SIMD2(bytes, 0), to: Bytes.self)) }

    @inline(__always)
    private static func pair(_ v: SIMD16<Float>) -> (Self, Self) {
        let (low, high) = halves(v)
        return (Self(low), Self(high))
    }

    @inline(__always)
    static func half(_ p: UnsafeRawPointer) -> Self {
        Self(floats_of_halves(SIMD8(repeating: p.loadUnaligned(as: UInt16.self))))
    }

    @inline(__always) func lane(_ index: Int) -> Self { Self(v[index]) }

    @inline(__always)
    static func sums(_ a: Self, _ b: Self, _ c: Self, _ d: Self) -> SIMD4<Float> { lane_sums(a.v, b.v, c.v, d.v) }
}
