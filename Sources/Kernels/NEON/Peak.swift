// Loops of multiplications and additions in registers, to measure the processor's peak speed.
//
// Twelve chains of two registers cover the latency of either instruction (4 cycles, up to four per cycle). The integer
// loops multiply their sums, so that the compiler cannot move the product out of the loop.

import CIntrinsics

/// Operations per round; a multiplication or an addition of one value counts as one.
public let floatOperationsOfRound = 12 * 8 * 2
public let wordOperationsOfRound = 12 * 8 * 2
public let byteOperationsOfRound = 6 * 64 * 2

/// `fmla`. The result only keeps the loop from being optimized away.
@inline(never)
public func multiplyAddFloats(rounds: Int, _ factor: Float) -> Float {
    let x = Floats(repeating: factor)
    var (a, b, c, d) = (x, x + 1, x + 2, x + 3)
    var (e, f, g, h) = (x + 4, x + 5, x + 6, x + 7)
    var (i, j, k, l) = (x + 8, x + 9, x + 10, x + 11)
    for _ in 0..<rounds {
        a = multiply_add(a, x, x)
        b = multiply_add(b, x, x)
        c = multiply_add(c, x, x)
        d = multiply_add(d, x, x)
        e = multiply_add(e, x, x)
        f = multiply_add(f, x, x)
        g = multiply_add(g, x, x)
        h = multiply_add(h, x, x)
        i = multiply_add(i, x, x)
        j = multiply_add(j, x, x)
        k = multiply_add(k, x, x)
        l = multiply_add(l, x, x)
    }
    return sum(((a + b) + (c + d)) + ((e + f) + (g + h)) + ((i + j) + (k + l)))
}

/// `mla` of 16-bit integers.
@inline(never)
public func multiplyAddWords(rounds: Int, _ factor: Int16) -> Int32 {
    let x = SIMD8<Int16>(repeating: factor)
    var (a, b, c, d) = (x, x &+ 1, x &+ 2, x &+ 3)
    var (e, f, g, h) = (x &+ 4, x &+ 5, x &+ 6, x &+ 7)
    var (i, j, k, l) = (x &+ 8, x &+ 9, x &+ 10, x &+ 11)
    for _ in 0..<rounds {
        a = vmlaq_s16(x, a, x)
        b = vmlaq_s16(x, b, x)
        c = vmlaq_s16(x, c, x)
        d = vmlaq_s16(x, d, x)
        e = vmlaq_s16(x, e, x)
        f = vmlaq_s16(x, f, x)
        g = vmlaq_s16(x, g, x)
        h = vmlaq_s16(x, h, x)
        i = vmlaq_s16(x, i, x)
        j = vmlaq_s16(x, j, x)
        k = vmlaq_s16(x, k, x)
        l = vmlaq_s16(x, l, x)
    }
    // In parts: Swift 6.0 gives up on the whole.
    let (first, second, third) = ((a ^ b) ^ (c ^ d), (e ^ f) ^ (g ^ h), (i ^ j) ^ (k ^ l))
    return Int32((first ^ second ^ third).wrappedSum())
}

/// `sdot`: six chains of four registers. The codes are the sums, so that no product is the same.
@inline(never)
public func multiplyAddBytes(rounds: Int, _ factor: Int8) -> Int32 {
    let x = SIMD16<Int8>(repeating: factor)
    let start = SIMD16<Int32>(repeating: Int32(factor))
    var (a, b, c) = (start, start &+ 1, start &+ 2)
    var (d, e, f) = (start &+ 3, start &+ 4, start &+ 5)
    for _ in 0..<rounds {
        a = dot_lane0(a, unsafeBitCast(a, to: Codes.self), x)
        b = dot_lane0(b, unsafeBitCast(b, to: Codes.self), x)
        c = dot_lane0(c, unsafeBitCast(c, to: Codes.self), x)
        d = dot_lane0(d, unsafeBitCast(d, to: Codes.self), x)
        e = dot_lane0(e, unsafeBitCast(e, to: Codes.self), x)
        f = dot_lane0(f, unsafeBitCast(f, to: Codes.self), x)
    }
    return (((a ^ b) ^ (c ^ d)) ^ (e ^ f)).wrappedSum()
}
