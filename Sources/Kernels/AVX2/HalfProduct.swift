// One token times rows of 16-bit floats in the file's format, for decoding: weights are streamed from memory through
// registers.
//
// Sums are in the order of `multiplyFloats`, so that a token gets the same bits alone as in a batch.

import CIntrinsics
public import KernelFormats

/// Multiplies one token by rows of F16 or BF16 weights.
@inline(never)
public func multiplyHalves(_ product: HalfProduct) {
    if product.isBFloat16 { multiply(product, widenBFloat16) } else { multiply(product, loadHalves) }
}

@inline(__always)
private func widenBFloat16(_ p: UnsafeRawPointer) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16Bytes(p)), 16))
}

@inline(__always)
private func multiply(_ product: HalfProduct, _ widen: (UnsafeRawPointer) -> __m256) {
    let bytes = 2 &* product.columns
    var row = 0
    while row < product.rows {
        // Beyond the last row, the last row is read and its result stored again.
        let last = product.rows &- 1
        let i1 = row < last ? row &+ 1 : last, i2 = i1 < last ? i1 &+ 1 : last, i3 = i2 < last ? i2 &+ 1 : last
        let (w0, w1) = (product.w + row &* bytes, product.w + i1 &* bytes)
        let (w2, w3) = (product.w + i2 &* bytes, product.w + i3 &* bytes)
        var total = _mm_setzero_ps()
        var first = 0
        while first < product.columns {
            let end = first &+ product.depth < product.columns ? first &+ product.depth : product.columns
            let zero = _mm256_setzero_ps()
            var s0 = zero, s1 = zero, s2 = zero, s3 = zero
            var k = first
            while k < end {
                let x = load(product.a + k)
                s0 = _mm256_fmadd_ps(x, widen(w0 + 2 &* k), s0)
                s1 = _mm256_fmadd_ps(x, widen(w1 + 2 &* k), s1)
                s2 = _mm256_fmadd_ps(x, widen(w2 + 2 &* k), s2)
                s3 = _mm256_fmadd_ps(x, widen(w3 + 2 &* k), s3)
                k &+= 8
            }
            let sum = sums(s0, s1, s2, s3)
            total = first == 0 ? sum : _mm_add_ps(total, sum)
            first = end
        }
        product.c[row] = total[0]
        product.c[i1] = total[1]
        product.c[i2] = total[2]
        product.c[i3] = total[3]
        row &+= 4
    }
}
