import CIntrinsics
import KernelsFloat

/// Eight floats in two registers.
struct EightFloats: KernelVector {
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
}
