// A float matrix product: C[tokens, rows] (+)= A[tokens, k] · W[rows, k]ᵀ.
//
// A token's results must not depend on the number of tokens, so the order of summation is fixed: lane l of a register
// sums k = l, l + 8, … in turn; the lanes are added as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
//
// Four tokens by three weight rows are 12 sums, three weights and an activation: all 16 registers of AVX2, 24 and more of the
// 32 of NEON. A step has 12 multiply-adds and 7 loads, so it is bound by the multiply-add units. Weights and activations
// are read in place, a vector of columns at a time, without transposing. The remainder, and single tokens, are computed
// four sums at a time, enough to hide the latency of an addition.

public import KernelFormats

/// Multiplies `tokens` rows of `a` by `rows` rows of `w`.
@inlinable @inline(__always)
public func multiplyFloats<V: BlockVector>(_: V.Type, _ product: FloatProduct) {
    let (a, aStride, tokens) = (product.a, product.aStride, product.tokens)
    let (w, wStride, rows, count) = (product.w, product.wStride, product.rows, product.count)
    let (c, cStride, accumulate) = (product.c, product.cStride, product.accumulate)
    var token = 0
    while token &+ 4 <= tokens {
        let (x, out) = (a + token &* aStride, c + token &* cStride)
        var row = 0
        while row &+ 3 <= rows {
            multiply4x3(V.self, x, aStride, w + row &* wStride, wStride, count, out + row, cStride, accumulate)
            row &+= 3
        }
        while row < rows {
            // Four tokens by one row: the same sums, with weights and activations exchanged.
            multiply1x4(V.self, w + row &* wStride, x, aStride, count, out + row, cStride, accumulate)
            row &+= 1
        }
        token &+= 4
    }
    while token < tokens {
        let (x, out) = (a + token &* aStride, c + token &* cStride)
        var row = 0
        while row &+ 4 <= rows {
            multiply1x4(V.self, x, w + row &* wStride, wStride, count, out + row, 1, accumulate)
            row &+= 4
        }
        while row < rows {
            multiply1x1(V.self, x, w + row &* wStride, count, out + row, accumulate)
            row &+= 1
        }
        token &+= 1
    }
}

@inlinable @inline(__always)
func multiply4x3<V: BlockVector>(
    _: V.Type, _ a: UnsafePointer<Float>, _ aStride: Int, _ w: UnsafePointer<Float>, _ wStride: Int, _ count: Int,
    _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ accumulate: Bool
) {
    let zero = V(0)
    var c00 = zero, c01 = zero, c02 = zero, c10 = zero, c11 = zero, c12 = zero
    var c20 = zero, c21 = zero, c22 = zero, c30 = zero, c31 = zero, c32 = zero
    let (a1, a2, a3) = (a + aStride, a + 2 &* aStride, a + 3 &* aStride)
    let (w1, w2) = (w + wStride, w + 2 &* wStride)
    var k = 0
    while k < count {
        let (y0, y1, y2) = (V.load(w + k), V.load(w1 + k), V.load(w2 + k))
        let x0 = V.load(a + k)
        c00 = .multiplyAdd(x0, y0, c00)
        c01 = .multiplyAdd(x0, y1, c01)
        c02 = .multiplyAdd(x0, y2, c02)
        let x1 = V.load(a1 + k)
        c10 = .multiplyAdd(x1, y0, c10)
        c11 = .multiplyAdd(x1, y1, c11)
        c12 = .multiplyAdd(x1, y2, c12)
        let x2 = V.load(a2 + k)
        c20 = .multiplyAdd(x2, y0, c20)
        c21 = .multiplyAdd(x2, y1, c21)
        c22 = .multiplyAdd(x2, y2, c22)
        let x3 = V.load(a3 + k)
        c30 = .multiplyAdd(x3, y0, c30)
        c31 = .multiplyAdd(x3, y1, c31)
        c32 = .multiplyAdd(x3, y2, c32)
        k &+= V.count
    }
    write(V.sums(c00, c10, c20, c30), c, cStride, accumulate)
    write(V.sums(c01, c11, c21, c31), c + 1, cStride, accumulate)
    write(V.sums(c02, c12, c22, c32), c + 2, cStride, accumulate)
}

/// One row of `a` by four of `b`, with results `cStride` apart. The operands may be exchanged.
@inlinable @inline(__always)
func multiply1x4<V: BlockVector>(
    _: V.Type, _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ bStride: Int, _ count: Int,
    _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ accumulate: Bool
) {
    let zero = V(0)
    var s0 = zero, s1 = zero, s2 = zero, s3 = zero
    let (b1, b2, b3) = (b + bStride, b + 2 &* bStride, b + 3 &* bStride)
    var k = 0
    while k < count {
        let x = V.load(a + k)
        s0 = .multiplyAdd(x, .load(b + k), s0)
        s1 = .multiplyAdd(x, .load(b1 + k), s1)
        s2 = .multiplyAdd(x, .load(b2 + k), s2)
        s3 = .multiplyAdd(x, .load(b3 + k), s3)
        k &+= V.count
    }
    write(V.sums(s0, s1, s2, s3), c, cStride, accumulate)
}

@inlinable @inline(__always)
func multiply1x1<V: BlockVector>(
    _: V.Type, _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ count: Int, _ c: UnsafeMutablePointer<Float>,
    _ accumulate: Bool
) {
    var s = V(0)
    var k = 0
    while k < count {
        s = .multiplyAdd(.load(a + k), .load(b + k), s)
        k &+= V.count
    }
    let sum = V.sums(s, s, s, s)[0]
    c[0] = accumulate ? c[0] + sum : sum
}

@inlinable @inline(__always)
func write(_ sums: SIMD4<Float>, _ c: UnsafeMutablePointer<Float>, _ stride: Int, _ accumulate: Bool) {
    let (p1, p2, p3) = (c + stride, c + 2 &* stride, c + 3 &* stride)
    if accumulate {
        c[0] += sums[0]
        p1[0] += sums[1]
        p2[0] += sums[2]
        p3[0] += sums[3]
    } else {
        c[0] = sums[0]
        p1[0] = sums[1]
        p2[0] = sums[2]
        p3[0] = sums[3]
    }
}
