// A float matrix product for prompts, as in the AVX2 tier, two panels at a time: twelve sums are under way.

import CIntrinsics

/// Multiplies one tile, `[count][6]`, by panels of 16 weight rows, `[count][16]`, `panelFloats` apart.
///
/// - Parameters:
///   - panels: How many.
///   - c: Where the results of the first token go, 16 floats a panel; those of the next are `stride` floats further.
///   - tokens: How many rows of `c` are written, up to 6.
///   - accumulate: Whether to add to `c` or to replace it.
@inline(never)
public func multiplyTile(
    _ tile: UnsafePointer<Float>, _ panel: UnsafePointer<Float>, panelFloats: Int, panels: Int, count: Int,
    into c: UnsafeMutablePointer<Float>, stride: Int, tokens: Int, accumulate: Bool
) {
    var index = 0
    while index < panels {
        let both = index &+ 1 < panels
        let first = panel + index &* panelFloats
        multiply(
            tile, first, both ? first + panelFloats : first, count, c + 16 &* index, stride, tokens, accumulate, both)
        index &+= 2
    }
}

@inline(__always)
private func multiply(
    _ tile: UnsafePointer<Float>, _ first: UnsafePointer<Float>, _ second: UnsafePointer<Float>, _ count: Int,
    _ c: UnsafeMutablePointer<Float>, _ stride: Int, _ tokens: Int, _ accumulate: Bool, _ writesSecond: Bool
) {
    let zero = _mm512_setzero_ps()
    var c00 = zero, c01 = zero, c10 = zero, c11 = zero, c20 = zero, c21 = zero
    var c30 = zero, c31 = zero, c40 = zero, c41 = zero, c50 = zero, c51 = zero
    var a = tile, w = 0
    for _ in 0..<count {
        let w0 = _mm512_loadu_ps(first + w), w1 = _mm512_loadu_ps(second + w)
        let a0 = _mm512_set1_ps(a[0])
        c00 = _mm512_fmadd_ps(a0, w0, c00)
        c01 = _mm512_fmadd_ps(a0, w1, c01)
        let a1 = _mm512_set1_ps(a[1])
        c10 = _mm512_fmadd_ps(a1, w0, c10)
        c11 = _mm512_fmadd_ps(a1, w1, c11)
        let a2 = _mm512_set1_ps(a[2])
        c20 = _mm512_fmadd_ps(a2, w0, c20)
        c21 = _mm512_fmadd_ps(a2, w1, c21)
        let a3 = _mm512_set1_ps(a[3])
        c30 = _mm512_fmadd_ps(a3, w0, c30)
        c31 = _mm512_fmadd_ps(a3, w1, c31)
        let a4 = _mm512_set1_ps(a[4])
        c40 = _mm512_fmadd_ps(a4, w0, c40)
        c41 = _mm512_fmadd_ps(a4, w1, c41)
        let a5 = _mm512_set1_ps(a[5])
        c50 = _mm512_fmadd_ps(a5, w0, c50)
        c51 = _mm512_fmadd_ps(a5, w1, c51)
        a += 6
        w &+= 16
    }
    @inline(__always)
    func write(_ token: Int, _ low: __m512, _ high: __m512) {
        guard token < tokens else { return }
        let out = c + (token &* stride)
        _mm512_storeu_ps(out, accumulate ? _mm512_add_ps(_mm512_loadu_ps(out), low) : low)
        guard writesSecond else { return }
        _mm512_storeu_ps(out + 16, accumulate ? _mm512_add_ps(_mm512_loadu_ps(out + 16), high) : high)
    }
    write(0, c00, c01)
    write(1, c10, c11)
    write(2, c20, c21)
    write(3, c30, c31)
    write(4, c40, c41)
    write(5, c50, c51)
}
