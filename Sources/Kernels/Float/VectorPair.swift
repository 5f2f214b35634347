/// Two vectors side by side. A pair of pairs is four vectors.
public struct VectorPair<V: KernelVector>: KernelVector {
    public let low: V
    public let high: V

    @inlinable @inline(__always)
    public init(_ low: V, _ high: V) { (self.low, self.high) = (low, high) }

    @inlinable @inline(__always)
    public init(_ value: Float) { self.init(V(value), V(value)) }

    @inlinable @inline(__always)
    public static func load(_ p: UnsafePointer<Float>) -> Self { Self(.load(p), .load(p + V.count)) }

    @inlinable @inline(__always)
    public func store(_ p: UnsafeMutablePointer<Float>) {
        low.store(p)
        high.store(p + V.count)
    }

    @inlinable @inline(__always)
    public static func + (a: Self, b: Self) -> Self { Self(a.low + b.low, a.high + b.high) }
    @inlinable @inline(__always)
    public static func - (a: Self, b: Self) -> Self { Self(a.low - b.low, a.high - b.high) }
    @inlinable @inline(__always)
    public static func * (a: Self, b: Self) -> Self { Self(a.low * b.low, a.high * b.high) }
    @inlinable @inline(__always)
    public static func / (a: Self, b: Self) -> Self { Self(a.low / b.low, a.high / b.high) }
    @inlinable @inline(__always)
    public static func min(_ a: Self, _ b: Self) -> Self { Self(.min(a.low, b.low), .min(a.high, b.high)) }
    @inlinable @inline(__always)
    public static func max(_ a: Self, _ b: Self) -> Self { Self(.max(a.low, b.low), .max(a.high, b.high)) }
    @inlinable @inline(__always)
    public func rounded() -> Self { Self(low.rounded(), high.rounded()) }

    @inlinable @inline(__always)
    public static var count: Int { 2 &* V.count }
    @inlinable @inline(__always)
    public static var indices: Self { Self(V.indices, V.indices + V(Float(V.count))) }

    @inlinable @inline(__always)
    public static func loadHalves(_ p: UnsafeRawPointer) -> Self {
        Self(.loadHalves(p), .loadHalves(p + 2 &* V.count))
    }
    @inlinable @inline(__always)
    public static func loadBFloats(_ p: UnsafeRawPointer) -> Self {
        Self(.loadBFloats(p), .loadBFloats(p + 2 &* V.count))
    }

    @inlinable @inline(__always)
    public static func multiplyAdd(_ a: Self, _ b: Self, _ c: Self) -> Self {
        Self(.multiplyAdd(a.low, b.low, c.low), .multiplyAdd(a.high, b.high, c.high))
    }
    @inlinable @inline(__always)
    public func scaled(byPowerOfTwo n: Self) -> Self {
        Self(low.scaled(byPowerOfTwo: n.low), high.scaled(byPowerOfTwo: n.high))
    }
    @inlinable @inline(__always)
    public func zeroed(where x: Self, isBelow bound: Self) -> Self {
        Self(low.zeroed(where: x.low, isBelow: bound.low), high.zeroed(where: x.high, isBelow: bound.high))
    }

    @inlinable @inline(__always)
    public var first: Float { low.first }
    @inlinable @inline(__always)
    public var sum: Float { V.sum(low, high) }
    @inlinable @inline(__always)
    public var largest: Float { V.largest(low, high) }
    /// Four vectors are added as (0 + 1) + (2 + 3).
    @inlinable @inline(__always)
    public static func sum(_ a: Self, _ b: Self) -> Float { V.sum(a.low + a.high, b.low + b.high) }
    @inlinable @inline(__always)
    public static func largest(_ a: Self, _ b: Self) -> Float {
        V.largest(.max(a.low, a.high), .max(b.low, b.high))
    }
}
