// One token times rows of 16-bit floats in the file's format, for decoding: weights are streamed from memory through
// registers.
//
// Sums are in the order of `multiplyFloats`, so that a token gets the same bits alone as in a batch.

public import KernelFormats

/// Multiplies one token by rows of F16 or BF16 weights.
@inlinable @inline(__always)
public func multiplyHalves<V: BlockVector>(_: V.Type, _ product: HalfProduct) {
    if product.isBFloat16 {
        multiply(V.self, BFloatNumbers.self, product)
    } else {
        multiply(V.self, HalfNumbers.self, product)
    }
}

@inlinable @inline(__always)
func multiply<V: BlockVector, Numbers: NumberFormat>(_: V.Type, _: Numbers.Type, _ product: HalfProduct) {
    let bytes = Numbers.bytes &* product.columns
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
            let zero = V(0)
            var s0 = zero, s1 = zero, s2 = zero, s3 = zero
            var k = first
            while k < end {
                let (x, offset) = (V.load(product.a + k), Numbers.bytes &* k)
                s0 = .multiplyAdd(x, Numbers.load(w0 + offset), s0)
                s1 = .multiplyAdd(x, Numbers.load(w1 + offset), s1)
                s2 = .multiplyAdd(x, Numbers.load(w2 + offset), s2)
                s3 = .multiplyAdd(x, Numbers.load(w3 + offset), s3)
                k &+= V.count
            }
            let sum = V.sums(s0, s1, s2, s3)
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
