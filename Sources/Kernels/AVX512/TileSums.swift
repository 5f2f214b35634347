// The sums of a tile of floats, in registers.
//
// A register holds 16 rows. The compiler takes the parts of a structure of structures apart, so that all of them are in
// registers.

import CIntrinsics

typealias Two = Both<One, One>
typealias Three = Both<Two, One>
typealias Four = Both<Two, Two>
typealias Eight = Both<Four, Four>

/// The sums of some tokens by two groups of rows.
protocol TileSums {
    static var tokens: Int { get }
    init()
    /// Adds the products of a column.
    mutating func add(_ activations: UnsafePointer<Float>, _ w0: __m512, _ w1: __m512)
    mutating func load(_ c0: UnsafePointer<Float>, _ c1: UnsafePointer<Float>, _ stride: Int)
    func store(_ c0: UnsafeMutablePointer<Float>, _ c1: UnsafeMutablePointer<Float>, _ stride: Int)
    mutating func scale(_ f0: __m512, _ f1: __m512)
}

struct One: TileSums {
    private var s0 = _mm512_setzero_ps()
    private var s1 = _mm512_setzero_ps()

    static var tokens: Int { 1 }
    @inline(__always)
    init() {}
    @inline(__always)
    mutating func add(_ activations: UnsafePointer<Float>, _ w0: __m512, _ w1: __m512) {
        let x = _mm512_set1_ps(activations[0])
        s0 = _mm512_fmadd_ps(x, w0, s0)
        s1 = _mm512_fmadd_ps(x, w1, s1)
    }
    @inline(__always)
    mutating func load(_ c0: UnsafePointer<Float>, _ c1: UnsafePointer<Float>, _ stride: Int) {
        s0 = _mm512_loadu_ps(c0)
        s1 = _mm512_loadu_ps(c1)
    }
    @inline(__always)
    func store(_ c0: UnsafeMutablePointer<Float>, _ c1: UnsafeMutablePointer<Float>, _ stride: Int) {
        _mm512_storeu_ps(c0, s0)
        _mm512_storeu_ps(c1, s1)
    }
    @inline(__always)
    mutating func scale(_ f0: __m512, _ f1: __m512) {
        s0 = _mm512_mul_ps(s0, f0)
        s1 = _mm512_mul_ps(s1, f1)
    }
}

/// Of the tokens of `A`, and those of `B` behind them.
struct Both<A: TileSums, B: TileSums>: TileSums {
    private var a = A()
    private var b = B()

    static var tokens: Int { A.tokens &+ B.tokens }
    @inline(__always)
    init() {}
    @inline(__always)
    mutating func add(_ activations: UnsafePointer<Float>, _ w0: __m512, _ w1: __m512) {
        a.add(activations, w0, w1)
        b.add(activations + A.tokens, w0, w1)
    }
    @inline(__always)
    mutating func load(_ c0: UnsafePointer<Float>, _ c1: UnsafePointer<Float>, _ stride: Int) {
        a.load(c0, c1, stride)
        b.load(c0 + A.tokens &* stride, c1 + A.tokens &* stride, stride)
    }
    @inline(__always)
    func store(_ c0: UnsafeMutablePointer<Float>, _ c1: UnsafeMutablePointer<Float>, _ stride: Int) {
        a.store(c0, c1, stride)
        b.store(c0 + A.tokens &* stride, c1 + A.tokens &* stride, stride)
    }
    @inline(__always)
    mutating func scale(_ f0: __m512, _ f1: __m512) {
        a.scale(f0, f1)
        b.scale(f0, f1)
    }
}
