// A float matrix product with the results of the AVX2 tier: C[tokens, rows] (+)= A[tokens, k] · W[rows, k]ᵀ.
//
// A register holds eight columns of two weight rows, or eight columns of a token twice: lanes are summed in the order
// of the AVX2 tier. Four tokens by three pairs of rows are 12 accumulators.

import CIntrinsics
public import KernelFormats
import KernelsAVX2

/// Multiplies `tokens` rows of `a` by `rows` rows of `w`; bitwise equal to `KernelsAVX2.multiplyFloats`.
@inline(never)
public func multiplyFloats(_ product: FloatProduct) {
    let (a, aStride, tokens) = (product.a, product.aStride, product.tokens)
    let (w, wStride, rows, count) = (product.w, product.wStride, product.rows, product.count)
    let (c, cStride, accumulate) = (product.c, product.cStride, product.accumulate)
    let (wholeTokens, wholeRows) = (tokens & ~3, rows &- rows % 6)
    var token = 0
    while token < wholeTokens {
        var row = 0
        while row < wholeRows {
            multiply4x6(
                a + token &* aStride, aStride, w + row &* wStride, wStride, count, c + (token &* cStride &+ row),
                cStride,
                accumulate)
            row &+= 6
        }
        token &+= 4
    }
    // The remainder: the last rows for the tokens above, and the last tokens for all rows.
    var rest = product
    (rest.tokens, rest.w, rest.rows) = (wholeTokens, w + wholeRows &* wStride, rows &- wholeRows)
    rest.c = c + wholeRows
    KernelsAVX2.multiplyFloats(rest)
    rest = product
    (rest.a, rest.tokens) = (a + wholeTokens &* aStride, tokens &- wholeTokens)
    rest.c = c + wholeTokens &* cStride
    KernelsAVX2.multiplyFloats(rest)
}

@inline(__always)
private func multiply4x6(
    _ a: UnsafePointer<Float>, _ aStride: Int, _ w: UnsafePointer<Float>, _ wStride: Int, _ count: Int,
    _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ accumulate: Bool
) {
    @inline(__always)
    func pair(_ row: Int, _ k: Int) -> __m512 {
        let first = w + (row &* wStride &+ k)
        return join_halves(_mm256_loadu_ps(first), _mm256_loadu_ps(first + wStride))
    }
    @inline(__always)
    func twice(_ token: Int, _ k: Int) -> __m512 {
        _mm512_broadcast_f32x8(_mm256_loadu_ps(a + (token &* aStride &+ k)))
    }
    let zero = _mm512_setzero_ps()
    var c00 = zero, c01 = zero, c02 = zero, c10 = zero, c11 = zero, c12 = zero
    var c20 = zero, c21 = zero, c22 = zero, c30 = zero, c31 = zero, c32 = zero
    var k = 0
    while k < count {
        let (y0, y1, y2) = (pair(0, k), pair(2, k), pair(4, k))
        let (x0, x1, x2, x3) = (twice(0, k), twice(1, k), twice(2, k), twice(3, k))
        c00 = _mm512_fmadd_ps(x0, y0, c00)
        c01 = _mm512_fmadd_ps(x0, y1, c01)
        c02 = _mm512_fmadd_ps(x0, y2, c02)
        c10 = _mm512_fmadd_ps(x1, y0, c10)
        c11 = _mm512_fmadd_ps(x1, y1, c11)
        c12 = _mm512_fmadd_ps(x1, y2, c12)
        c20 = _mm512_fmadd_ps(x2, y0, c20)
        c21 = _mm512_fmadd_ps(x2, y1, c21)
        c22 = _mm512_fmadd_ps(x2, y2, c22)
        c30 = _mm512_fmadd_ps(x3, y0, c30)
        c31 = _mm512_fmadd_ps(x3, y1, c31)
        c32 = _mm512_fmadd_ps(x3, y2, c32)
        k &+= 8
    }
    write(c00, c01, c02, c, accumulate)
    write(c10, c11, c12, c + cStride, accumulate)
    write(c20, c21, c22, c + 2 &* cStride, accumulate)
    write(c30, c31, c32, c + 3 &* cStride, accumulate)
}

/// Writes a token's results for six rows.
@inline(__always)
private func write(
    _ p: __m512, _ q: __m512, _ r: __m512, _ c: UnsafeMutablePointer<Float>, _ accumulate: Bool
) {
    let (r0, r1) = (_mm512_castps512_ps256(r), upper_half(r))
    let four = sums(_mm512_castps512_ps256(p), upper_half(p), _mm512_castps512_ps256(q), upper_half(q))
    let two = sums(r0, r1, r0, r1)
    let (s4, s5) = (_mm_cvtss_f32(two), _mm_cvtss_f32(_mm_movehdup_ps(two)))
    if accumulate {
        _mm_storeu_ps(c, _mm_add_ps(_mm_loadu_ps(c), four))
        c[4] += s4
        c[5] += s5
    } else {
        _mm_storeu_ps(c, four)
        c[4] = s4
        c[5] = s5
    }
}

/// The horizontal sums of four registers, in the AVX2 tier's order.
@inline(__always)
private func sums(_ a: __m256, _ b: __m256, _ c: __m256, _ d: __m256) -> __m128 {
    let fours = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d))
    return _mm_add_ps(_mm256_castps256_ps128(fours), upper_lane(fours))
}
