// A float matrix product: C[tokens, rows] (+)= A[tokens, k] · W[rows, k]ᵀ.
//
// A token's results must not depend on the number of tokens, so the order of summation is fixed: lane l sums k = l, l +
// 8, … in turn, and the lanes are added by halves. Each weight is read once for four tokens.

public import KernelFormats

/// Multiplies `tokens` rows of `a` by `rows` rows of `w`.
@inline(never)
public func multiplyFloats(_ product: FloatProduct) {
    let (a, aStride, tokens) = (product.a, product.aStride, product.tokens)
    let (w, wStride, rows, count) = (product.w, product.wStride, product.rows, product.count)
    let (c, cStride, accumulate) = (product.c, product.cStride, product.accumulate)
    var token = 0
    while token < tokens {
        let last = min(token &+ 3, tokens &- 1)
        // Beyond the last token, the last token is read and its result stored again.
        let (t1, t2) = (min(token &+ 1, last), min(token &+ 2, last))
        for row in 0..<rows {
            let weights = w + row &* wStride
            let (x0, x1, x2, x3) = (a + token &* aStride, a + t1 &* aStride, a + t2 &* aStride, a + last &* aStride)
            var s0 = SIMD8<Float>(), s1 = s0, s2 = s0, s3 = s0
            var k = 0
            while k < count {
                let y = load8(weights + k)
                s0 += load8(x0 + k) * y
                s1 += load8(x1 + k) * y
                s2 += load8(x2 + k) * y
                s3 += load8(x3 + k) * y
                k &+= 8
            }
            let (p0, p1) = (c + (token &* cStride &+ row), c + (t1 &* cStride &+ row))
            let (p2, p3) = (c + (t2 &* cStride &+ row), c + (last &* cStride &+ row))
            let (b0, b1, b2, b3) = accumulate ? (p0[0], p1[0], p2[0], p3[0]) : (0, 0, 0, 0)
            p0[0] = b0 + s0.sum()
            p1[0] = b1 + s1.sum()
            p2[0] = b2 + s2.sum()
            p3[0] = b3 + s3.sum()
        }
        token = last &+ 1
    }
}
