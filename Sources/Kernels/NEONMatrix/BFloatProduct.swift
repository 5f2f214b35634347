// Floats times bfloat16 weights, read from the file as they are.
//
// `bfmmla` multiplies two rows of four weights by two tokens of four activations. An activation becomes the sum of two
// bfloat16 numbers, which is off by at most 2⁻¹⁸ of it; the products of the first and of the second ones are summed
// apart. A token's sums are taken in the same order whatever is computed beside it.

import CIntrinsics
public import KernelFormats

/// Multiplies `tokens` rows of `a` by `rows` rows of `w`.
///
/// An activation that is not finite makes the token's results NaN.
@inline(never)
public func multiplyBFloats(_ product: BFloatProduct) {
    split(product)
    let pairs = (product.tokens &+ 1) / 2
    var row = 0
    while row < product.rows {
        var pair = 0
        while pair &+ 4 <= pairs {
            multiplyFour(product, row, pair)
            pair &+= 4
        }
        while pair < pairs {
            multiplyOne(product, row, pair)
            pair &+= 1
        }
        row &+= 4
    }
}

/// Bytes of the activations of two tokens and four columns: `[first, second][2 tokens][4]`.
private var fourBytes: Int { 32 }

/// Fills the scratch: `[pairs of tokens][columns / 4]` of the above. An odd last token forms a pair with itself.
private func split(_ product: BFloatProduct) {
    var out = product.scratch
    var token = 0
    while token < product.tokens {
        let x = product.a + token &* product.aStride
        let y = token &+ 1 < product.tokens ? x + product.aStride : x
        var k = 0
        while k < product.columns {
            let (a, b) = (split_floats(load4(x + k)), split_floats(load4(y + k)))
            out.storeBytes(of: join(a, b, first: true), as: Eight.self)
            (out + 16).storeBytes(of: join(a, b, first: false), as: Eight.self)
            out += fourBytes
            k &+= 4
        }
        token &+= 2
    }
}

private typealias Eight = SIMD8<UInt16>

@inline(__always)
private func load4(_ p: UnsafePointer<Float>) -> SIMD4<Float> {
    UnsafeRawPointer(p).loadUnaligned(as: SIMD4<Float>.self)
}

/// The first or the last four lanes of both.
@inline(__always)
private func join(_ a: Eight, _ b: Eight, first: Bool) -> Eight {
    let (a, b) = (unsafeBitCast(a, to: SIMD2<Int64>.self), unsafeBitCast(b, to: SIMD2<Int64>.self))
    return unsafeBitCast(first ? vzip1q_s64(a, b) : vzip2q_s64(a, b), to: Eight.self)
}

@inline(never)
private func multiplyFour(_ product: BFloatProduct, _ row: Int, _ pair: Int) { multiply(4, product, row, pair) }

@inline(never)
private func multiplyOne(_ product: BFloatProduct, _ row: Int, _ pair: Int) { multiply(1, product, row, pair) }

/// Four rows by `pairs`, a literal, pairs of tokens. Beyond the last row, the last row is read and stored again.
@inline(__always)
private func multiply(_ pairs: Int, _ product: BFloatProduct, _ row: Int, _ pair: Int) {
    let last = product.rows &- 1
    let i1 = row < last ? row &+ 1 : last, i2 = i1 < last ? i1 &+ 1 : last, i3 = i2 < last ? i2 &+ 1 : last
    let (w0, w1) = (product.w + row &* product.wStride, product.w + i1 &* product.wStride)
    let (w2, w3) = (product.w + i2 &* product.wStride, product.w + i3 &* product.wStride)
    let pairBytes = product.columns / 4 &* fourBytes
    var x = UnsafeRawPointer(product.scratch + pair &* pairBytes)
    var s0 = PairSums(), s1 = PairSums(), s2 = PairSums(), s3 = PairSums()
    var k = 0
    while k < 2 &* product.columns {
        let (a, b) = ((w0 + k).loadUnaligned(as: Eight.self), (w1 + k).loadUnaligned(as: Eight.self))
        let (c, d) = ((w2 + k).loadUnaligned(as: Eight.self), (w3 + k).loadUnaligned(as: Eight.self))
        let low = (join(a, b, first: true), join(c, d, first: true))
        let high = (join(a, b, first: false), join(c, d, first: false))
        s0.add(low, high, x)
        if pairs > 1 {
            s1.add(low, high, x + pairBytes)
            s2.add(low, high, x + 2 &* pairBytes)
            s3.add(low, high, x + 3 &* pairBytes)
        }
        x += 2 &* fourBytes
        k &+= 16
    }
    let rows = (row, i1, i2, i3)
    s0.write(product, rows, pair)
    if pairs > 1 {
        s1.write(product, rows, pair &+ 1)
        s2.write(product, rows, pair &+ 2)
        s3.write(product, rows, pair &+ 3)
    }
}

/// Sums of four rows by two tokens, of the first and the second parts of activations; each register is
/// `[2 rows][2 tokens]`.
private struct PairSums {
    private var first = (SIMD4<Float>(), SIMD4<Float>())
    private var second = (SIMD4<Float>(), SIMD4<Float>())

    @inline(__always)
    init() {}

    /// Eight columns, four in `low` and four in `high`.
    @inline(__always)
    mutating func add(_ low: (Eight, Eight), _ high: (Eight, Eight), _ x: UnsafeRawPointer) {
        add(low, x)
        add(high, x + fourBytes)
    }

    @inline(__always)
    private mutating func add(_ w: (Eight, Eight), _ x: UnsafeRawPointer) {
        let (a, b) = (x.loadUnaligned(as: Eight.self), (x + 16).loadUnaligned(as: Eight.self))
        first.0 = multiply_bfloats(first.0, w.0, a)
        first.1 = multiply_bfloats(first.1, w.1, a)
        second.0 = multiply_bfloats(second.0, w.0, b)
        second.1 = multiply_bfloats(second.1, w.1, b)
    }

    @inline(__always)
    func write(_ product: BFloatProduct, _ rows: (Int, Int, Int, Int), _ pair: Int) {
        let (upper, lower) = (first.0 + second.0, first.1 + second.1)
        let c = product.c + 2 &* pair &* product.cStride
        let other = 2 &* pair &+ 1 < product.tokens ? c + product.cStride : c
        let sums = (
            SIMD4(upper[0], upper[2], lower[0], lower[2]), SIMD4(upper[1], upper[3], lower[1], lower[3])
        )
        let old = product.accumulate ? (read(c, rows), read(other, rows)) : (SIMD4<Float>(), SIMD4<Float>())
        store(old.0 + sums.0, c, rows)
        // The second token of an odd last pair is the first.
        store(old.1 + sums.1, other, rows)
    }

    @inline(__always)
    private func read(_ c: UnsafeMutablePointer<Float>, _ rows: (Int, Int, Int, Int)) -> SIMD4<Float> {
        SIMD4(c[rows.0], c[rows.1], c[rows.2], c[rows.3])
    }

    @inline(__always)
    private func store(_ v: SIMD4<Float>, _ c: UnsafeMutablePointer<Float>, _ rows: (Int, Int, Int, Int)) {
        c[rows.0] = v[0]
        c[rows.1] = v[1]
        c[rows.2] = v[2]
        c[rows.3] = v[3]
    }
}
