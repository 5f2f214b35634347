// Shared by the kernels of this tier: loads, sums, and e^x of eight floats.

public import CIntrinsics
import KernelFormats

/// Two registers.
typealias Floats = SIMD8<Float>

@inline(__always)
func load(_ p: UnsafePointer<Float>) -> Floats { UnsafeRawPointer(p).loadUnaligned(as: Floats.self) }

@inline(__always)
func store(_ v: Floats, _ p: UnsafeMutablePointer<Float>) {
    UnsafeMutableRawPointer(p).storeBytes(of: v, as: Floats.self)
}

@inline(__always)
func store4(_ p: UnsafeMutablePointer<Float>, _ a: Floats, _ b: Floats, _ c: Floats, _ d: Floats) {
    store(a, p)
    store(b, p + 8)
    store(c, p + 16)
    store(d, p + 24)
}

/// Loads eight half-precision numbers as floats.
@inline(__always)
func loadHalves(_ p: UnsafeRawPointer) -> Floats { floats_of_halves(p.loadUnaligned(as: SIMD8<UInt16>.self)) }

/// The half-precision number at `p`.
@inline(__always)
func half(_ p: UnsafeRawPointer) -> Float {
    floats_of_halves(SIMD8(repeating: p.loadUnaligned(as: UInt16.self)))[0]
}

@inline(__always)
func halves(_ v: SIMD16<Float>) -> (low: Floats, high: Floats) { unsafeBitCast(v, to: (Floats, Floats).self) }

@inline(__always)
func sum(_ a: Floats) -> Float { lane_sums(a, a, a, a)[0] }

/// e^x to about 2 ulp: e^x = 2^n · e^r, n = round(x / ln 2), e^r by its Taylor series to the sixth power, whose
/// relative error is below (ln 2 / 2)^7 / 5040 = 1.2e-7. ln 2 is split in two parts to keep r exact. Below −87 the
/// result is 0. NaN propagates.
@inline(__always)
func exponential(_ x: Floats) -> Floats {
    let low = Floats(repeating: -87)
    let clamped = minimum_of(Floats(repeating: 88), maximum_of(low, x))
    let n = round_to_nearest(clamped * 1.442_695_04)
    var r = multiply_add(n, Floats(repeating: -0.693_359_375), clamped)
    r = multiply_add(n, Floats(repeating: 2.121_944_4e-4), r)
    var p = Floats(repeating: 1 / 720)
    p = multiply_add(p, r, Floats(repeating: 1 / 120))
    p = multiply_add(p, r, Floats(repeating: 1 / 24))
    p = multiply_add(p, r, Floats(repeating: 1 / 6))
    p = multiply_add(p, r, Floats(repeating: 0.5))
    p = multiply_add(p, r, Floats(repeating: 1))
    p = multiply_add(p, r, Floats(repeating: 1))
    let power = unsafeBitCast((nearest_ints(n) &+ 127) &<< 23, to: Floats.self)
    return zero_below(x, low, p * power)
}
