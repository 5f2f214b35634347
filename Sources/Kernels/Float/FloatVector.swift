/// Several floats, computed at once: the registers of a tier, which the kernels in this folder are generic over.
///
/// Each tier's module has vectors of its own, and functions that call the kernels with them.
public protocol FloatVector {
    /// The value in all lanes.
    init(_ value: Float)
    static func load(_ p: UnsafePointer<Float>) -> Self
    func store(_ p: UnsafeMutablePointer<Float>)

    static func + (a: Self, b: Self) -> Self
    static func - (a: Self, b: Self) -> Self
    static func * (a: Self, b: Self) -> Self
    static func / (a: Self, b: Self) -> Self
    /// NaN if `b` is.
    static func min(_ a: Self, _ b: Self) -> Self
    static func max(_ a: Self, _ b: Self) -> Self
    /// The nearest integers, ties to even, of values below 2²² in magnitude.
    func rounded() -> Self
}

/// A vector with fused multiply-add, sums across lanes and 16-bit floats.
///
/// Tiers with vectors of the same width may add their lanes in another order.
public protocol KernelVector: FloatVector {
    static var count: Int { get }
    /// 0, 1, 2, …
    static var indices: Self { get }
    /// Converts `count` numbers of 16 bits, in any alignment.
    static func loadHalves(_ p: UnsafeRawPointer) -> Self
    static func loadBFloats(_ p: UnsafeRawPointer) -> Self

    /// `a · b + c`, rounded once.
    static func multiplyAdd(_ a: Self, _ b: Self, _ c: Self) -> Self
    /// The value times 2^n, for integers n of -126 to 127.
    func scaled(byPowerOfTwo n: Self) -> Self
    /// The value where `x` is at least `low` or NaN, else 0.
    func zeroed(where x: Self, isBelow low: Self) -> Self

    var first: Float { get }
    var sum: Float { get }
    var largest: Float { get }
    /// The sum and the largest of all lanes of both.
    static func sum(_ a: Self, _ b: Self) -> Float
    static func largest(_ a: Self, _ b: Self) -> Float
}

extension KernelVector {
    @inlinable @inline(__always)
    public static func sum(_ a: Self, _ b: Self) -> Float { (a + b).sum }
    @inlinable @inline(__always)
    public static func largest(_ a: Self, _ b: Self) -> Float { max(a, b).largest }
}

/// e^x to about 2 ulp: e^x = 2^n · e^r, n = round(x / ln 2), e^r by its Taylor series to the sixth power, whose
/// relative error is below (ln 2 / 2)^7 / 5040 = 1.2e-7. ln 2 is split in two parts to keep r exact. Below −87 the
/// result is 0. NaN propagates, as `x` is the second operand of `max`, and its result that of `min`.
@inlinable @inline(__always)
public func exponential<V: KernelVector>(_ x: V) -> V {
    let low = V(-87)
    let clamped = V.min(V(88), V.max(low, x))
    let n = (clamped * V(1.442_695_04)).rounded()
    var r = V.multiplyAdd(n, V(-0.693_359_375), clamped)
    r = V.multiplyAdd(n, V(2.121_944_4e-4), r)
    var p = V(1 / 720)
    p = V.multiplyAdd(p, r, V(1 / 120))
    p = V.multiplyAdd(p, r, V(1 / 24))
    p = V.multiplyAdd(p, r, V(1 / 6))
    p = V.multiplyAdd(p, r, V(0.5))
    p = V.multiplyAdd(p, r, V(1))
    p = V.multiplyAdd(p, r, V(1))
    return p.scaled(byPowerOfTwo: n).zeroed(where: x, isBelow: low)
}

/// 1 / (1 + e^−x).
@inlinable @inline(__always)
func logistic<V: KernelVector>(_ x: V) -> V { V(1) / (V(1) + exponential(V(0) - x)) }

/// x / (1 + e^−x).
@inlinable @inline(__always)
func silu<V: KernelVector>(_ x: V) -> V { x / (V(1) + exponential(V(0) - x)) }
