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
private func widenBFloat16(_ p: UnsafeRawPointer) -> Floats {
    floats_of_bfloats(p.loadUnaligned(as: SIMD8<UInt16>.self))
}

@inline(__always)
private func multiply(_ product: HalfProduct, _ widen: (UnsafeRawPointer) -> Floats) {
    let bytes = 2 &* product.columns
    var row = 0
    while row < product.rows {
        // Beyond the last row, the last row is read and its result stored again.
        let last = product.rows &- 1
        let i1 = row < last ? row &+ 1 : last, i2 = i1 < last ? i1 &+ 1 : last, i3 = i2 < last ? i2 &+ 1 : last
        let (w0, w1) = (product.w + row &* bytes, product.w + i1 &* bytes)
        let (w2, w3) = (product.w + i2 &* bytes, product.w + i3 &* bytes)
        var total = SIMD4<Float>()
        var first = 0
        while first < product.columns {
            let end = first &+ product.depth < product.columns ? first &+ product.depth : product.columns
            let zero = Floats()
            var s0 = zero, s1 = zero, s2 = zero, s3 = zero
            var k = first
            while k < end {
                let x = load(product.a + k)
                s0 = multiply_add(x, widen(w0 + 2 &* k), s0)
                s1 = multiply_add(x, widen(w1 + 2 &* k), s1)
                s2 = multiply_add(x, widen(w2 + 2 &* k), s2)
                s3 = multiply_add(x, widen(w3 + 2 &* k), s3)
                k &+= 8
            }
            let sum = lane_sums(s0, s1, s2, s3)
            total = first == 0 ? sum : total + sum
            first = end
        }
        product.c[row] = total[0]
        product.c[i1] = total[1]
        product.c[i2] = total[2]
        product.c[i3] = total[3]
        row &+= 4
    }
}
