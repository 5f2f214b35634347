// A float matrix product: C[tokens, rows] (+)= A[tokens, k] · W[rows, k]ᵀ.
//
// A token's results must not depend on the number of tokens, so the order of summation is fixed: lane l of a register
// sums k = l, l + 8, … in turn; the lanes are added as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
//
// Four tokens by three weight rows are 24 of the 32 registers for sums. Weights and activations are read in place, eight
// columns at a time, without transposing. The remainder, and single tokens, are computed four sums at a time, enough to
// hide the latency of an addition.

import CIntrinsics
public import KernelFormats

/// Multiplies `tokens` rows of `a` by `rows` rows of `w`.
@inline(never)
public func multiplyFloats(_ product: FloatProduct) {
    let (a, aStride, tokens) = (product.a, product.aStride, product.tokens)
    let (w, wStride, rows, count) = (product.w, product.wStride, product.rows, product.count)
    let (c, cStride, accumulate) = (product.c, product.cStride, product.accumulate)
    var token = 0
    while token &+ 4 <= tokens {
        let (x, out) = (a + token &* aStride, c + token &* cStride)
        var row = 0
        while row &+ 3 <= rows {
            multiply4x3(x, aStride, w + row &* wStride, wStride, count, out + row, cStride, accumulate)
            row &+= 3
        }
        while row < rows {
            // Four tokens by one row: the same sums, with weights and activations exchanged.
            multiply1x4(w + row &* wStride, x, aStride, count, out + row, cStride, accumulate)
            row &+= 1
        }
        token &+= 4
    }
    while token < tokens {
        let (x, out) = (a + token &* aStride, c + token &* cStride)
        var row = 0
        while row &+ 4 <= rows {
            multiply1x4(x, w + row &* wStride, wStride, count, out + row, 1, accumulate)
            row &+= 4
        }
        while row < rows {
            multiply1x1(x, w + row &* wStride, count, out + row, accumulate)
            row &+= 1
        }
        token &+= 1
    }
}

@inline(__always)
private func multiply4x3(
    _ a: UnsafePointer<Float>, _ aStride: Int, _ w: UnsafePointer<Float>, _ wStride: Int, _ count: Int,
    _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ accumulate: Bool
) {
    let zero = Floats()
    var c00 = zero, c01 = zero, c02 = zero, c10 = zero, c11 = zero, c12 = zero
    var c20 = zero, c21 = zero, c22 = zero, c30 = zero, c31 = zero, c32 = zero
    let (a1, a2, a3) = (a + aStride, a + 2 &* aStride, a + 3 &* aStride)
    let (w1, w2) = (w + wStride, w + 2 &* wStride)
    var k = 0
    while k < count {
        let (y0, y1, y2) = (load(w + k), load(w1 + k), load(w2 + k))
        let x0 = load(a + k)
        c00 = multiply_add(x0, y0, c00)
        c01 = multiply_add(x0, y1, c01)
        c02 = multiply_add(x0, y2, c02)
        let x1 = load(a1 + k)
        c10 = multiply_add(x1, y0, c10)
        c11 = multiply_add(x1, y1, c11)
        c12 = multiply_add(x1, y2, c12)
        let x2 = load(a2 + k)
        c20 = multiply_add(x2, y0, c20)
        c21 = multiply_add(x2, y1, c21)
        c22 = multiply_add(x2, y2, c22)
        let x3 = load(a3 + k)
        c30 = multiply_add(x3, y0, c30)
        c31 = multiply_add(x3, y1, c31)
        c32 = multiply_add(x3, y2, c32)
        k &+= 8
    }
    write(lane_sums(c00, c10, c20, c30), c, cStride, accumulate)
    write(lane_sums(c01, c11, c21, c31), c + 1, cStride, accumulate)
    write(lane_sums(c02, c12, c22, c32), c + 2, cStride, accumulate)
}

/// One row of `a` by four of `b`, with results `cStride` apart. The operands may be exchanged.
@inline(__always)
private func multiply1x4(
    _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ bStride: Int, _ count: Int,
    _ c: UnsafeMutablePointer<Float>, _ cStride: Int, _ accumulate: Bool
) {
    let zero = Floats()
    var s0 = zero, s1 = zero, s2 = zero, s3 = zero
    let (b1, b2, b3) = (b + bStride, b + 2 &* bStride, b + 3 &* bStride)
    var k = 0
    while k < count {
        let x = load(a + k)
        s0 = multiply_add(x, load(b + k), s0)
        s1 = multiply_add(x, load(b1 + k), s1)
        s2 = multiply_add(x, load(b2 + k), s2)
        s3 = multiply_add(x, load(b3 + k), s3)
        k &+= 8
    }
    write(lane_sums(s0, s1, s2, s3), c, cStride, accumulate)
}

@inline(__always)
private func multiply1x1(
    _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ count: Int, _ c: UnsafeMutablePointer<Float>,
    _ accumulate: Bool
) {
    var s = Floats()
    var k = 0
    while k < count {
        s = multiply_add(load(a + k), load(b + k), s)
        k &+= 8
    }
    let sum = sum(s)
    c[0] = accumulate ? c[0] + sum : sum
}

@inline(__always)
private func write(_ sums: SIMD4<Float>, _ c: UnsafeMutablePointer<Float>, _ stride: Int, _ accumulate: Bool) {
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
