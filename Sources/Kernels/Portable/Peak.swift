// Loops of multiplications and additions in registers, or of memory reads, to measure the machine's peak speeds.
//
// Eight chains cover the latency of a multiplication and an addition, and fit the registers of SSE2 and NEON.

import KernelFormats

/// Operations per round; a multiplication or an addition of one value counts as one.
public let floatOperationsOfRound = 8 * 4 * 2
public let wordOperationsOfRound = 8 * 8 * 2
public let byteOperationsOfRound = 8 * 16 * 2

/// The result only keeps the loop from being optimized away.
@inline(never)
public func multiplyAddFloats(rounds: Int, _ factor: Float) -> Float {
    let x = SIMD4<Float>(repeating: factor)
    var (a, b, c, d) = (x, x + 1, x + 2, x + 3)
    var (e, f, g, h) = (x + 4, x + 5, x + 6, x + 7)
    for _ in 0..<rounds {
        a = a * x + x
        b = b * x + x
        c = c * x + x
        d = d * x + x
        e = e * x + x
        f = f * x + x
        g = g * x + x
        h = h * x + x
    }
    return ((a + b + c + d) + (e + f + g + h)).sum()
}

@inline(never)
public func multiplyAddWords(rounds: Int, _ factor: Int16) -> Int32 {
    let x = SIMD8<Int16>(repeating: factor)
    var (a, b, c, d) = (x, x &+ 1, x &+ 2, x &+ 3)
    var (e, f, g, h) = (x &+ 4, x &+ 5, x &+ 6, x &+ 7)
    for _ in 0..<rounds {
        a = a &* x &+ x
        b = b &* x &+ x
        c = c &* x &+ x
        d = d &* x &+ x
        e = e &* x &+ x
        f = f &* x &+ x
        g = g &* x &+ x
        h = h &* x &+ x
    }
    return Int32(((a ^ b ^ c ^ d) ^ (e ^ f ^ g ^ h)).wrappedSum())
}

@inline(never)
public func multiplyAddBytes(rounds: Int, _ factor: Int8) -> Int32 {
    let x = SIMD16<Int8>(repeating: factor)
    var (a, b, c, d) = (x, x &+ 1, x &+ 2, x &+ 3)
    var (e, f, g, h) = (x &+ 4, x &+ 5, x &+ 6, x &+ 7)
    for _ in 0..<rounds {
        a = a &* x &+ x
        b = b &* x &+ x
        c = c &* x &+ x
        d = d &* x &+ x
        e = e &* x &+ x
        f = f &* x &+ x
        g = g &* x &+ x
        h = h &* x &+ x
    }
    return Int32(((a ^ b ^ c ^ d) ^ (e ^ f ^ g ^ h)).wrappedSum())
}

/// The sum of the 64-bit words in `bytes` bytes, a multiple of 256.
@inline(never)
public func readAll(_ memory: UnsafeRawPointer, bytes: Int) -> UInt64 {
    sumOfWords(SIMD2<UInt64>.self, memory, bytes: bytes)
}
