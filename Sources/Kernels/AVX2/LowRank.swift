// The second product of low-rank updates (LoRA): C[tokens, outputs] += H[tokens, rank] · B[outputs, rank]ᵀ.
//
// A group of 16 outputs is two registers per token. One token takes four groups at a time, several tokens share the
// registers of B: either way eight accumulators, enough to hide the latency of a multiply-add. An output's terms are
// added in the order of the rank, so its bits do not depend on the tokens and outputs beside it.

import CIntrinsics
public import KernelFormats

private let groupOutputs = LowRankProduct.groupOutputs

/// As `KernelsPortable.addLowRank`, with fused multiply-adds.
@inline(never)
public func addLowRank(_ product: LowRankProduct) {
    let (first, end) = (product.outputs.lowerBound, product.outputs.upperBound)
    let wholeStart = min(end, (first &+ groupOutputs &- 1) / groupOutputs &* groupOutputs)
    let wholeEnd = max(wholeStart, end / groupOutputs &* groupOutputs)
    addPart(product, first..<wholeStart)
    var token = 0
    while token &+ 4 <= product.tokens {
        for output in stride(from: wholeStart, to: wholeEnd, by: groupOutputs) { addTokens(product, token, output) }
        token &+= 4
    }
    while token < product.tokens {
        var output = wholeStart
        while output &+ 4 &* groupOutputs <= wholeEnd {
            addGroups(product, token, output)
            output &+= 4 &* groupOutputs
        }
        while output < wholeEnd {
            addGroup(product, token, output, product.c + place(product, token, output))
            output &+= groupOutputs
        }
        token &+= 1
    }
    addPart(product, wholeEnd..<end)
}

@inline(__always)
private func place(_ product: LowRankProduct, _ token: Int, _ output: Int) -> Int {
    token &* product.cStride &+ output &- product.outputs.lowerBound
}

/// Some outputs of a group, for all tokens.
private func addPart(_ product: LowRankProduct, _ outputs: Range<Int>) {
    guard !outputs.isEmpty else { return }
    let lane = outputs.lowerBound % groupOutputs
    for token in 0..<product.tokens {
        let c = product.c + place(product, token, outputs.lowerBound)
        var group = SIMD16<Float>()
        for index in 0..<outputs.count { group[lane &+ index] = c[index] }
        withUnsafeMutableBytes(of: &group) {
            addGroup(
                product, token, outputs.lowerBound &- lane, $0.baseAddress!.assumingMemoryBound(to: Float.self))
        }
        for index in 0..<outputs.count { c[index] = group[lane &+ index] }
    }
}

@inline(__always)
private func addGroup(
    _ product: LowRankProduct, _ token: Int, _ output: Int, _ c: UnsafeMutablePointer<Float>
) {
    let (h, b) = (product.h + token &* product.rank, product.b + output &* product.rank)
    var (c0, c1) = (load(c), load(c + 8))
    for k in 0..<product.rank {
        let x = _mm256_set1_ps(h[k])
        c0 = _mm256_fmadd_ps(x, load(b + k &* groupOutputs), c0)
        c1 = _mm256_fmadd_ps(x, load(b + (k &* groupOutputs &+ 8)), c1)
    }
    _mm256_storeu_ps(c, c0)
    _mm256_storeu_ps(c + 8, c1)
}

/// Four groups of one token.
@inline(__always)
private func addGroups(_ product: LowRankProduct, _ token: Int, _ output: Int) {
    let (rank, h) = (product.rank, product.h + token &* product.rank)
    let c = product.c + place(product, token, output)
    let b0 = product.b + output &* rank
    let (b1, b2, b3) = (
        b0 + rank &* groupOutputs, b0 + 2 &* rank &* groupOutputs, b0 + 3 &* rank &* groupOutputs
    )
    var (c0, c1, c2, c3) = (load(c), load(c + 8), load(c + 16), load(c + 24))
    var (c4, c5, c6, c7) = (load(c + 32), load(c + 40), load(c + 48), load(c + 56))
    for k in 0..<rank {
        let (x, i) = (_mm256_set1_ps(h[k]), k &* groupOutputs)
        c0 = _mm256_fmadd_ps(x, load(b0 + i), c0)
        c1 = _mm256_fmadd_ps(x, load(b0 + (i &+ 8)), c1)
        c2 = _mm256_fmadd_ps(x, load(b1 + i), c2)
        c3 = _mm256_fmadd_ps(x, load(b1 + (i &+ 8)), c3)
        c4 = _mm256_fmadd_ps(x, load(b2 + i), c4)
        c5 = _mm256_fmadd_ps(x, load(b2 + (i &+ 8)), c5)
        c6 = _mm256_fmadd_ps(x, load(b3 + i), c6)
        c7 = _mm256_fmadd_ps(x, load(b3 + (i &+ 8)), c7)
    }
    _mm256_storeu_ps(c, c0)
    _mm256_storeu_ps(c + 8, c1)
    _mm256_storeu_ps(c + 16, c2)
    _mm256_storeu_ps(c + 24, c3)
    _mm256_storeu_ps(c + 32, c4)
    _mm256_storeu_ps(c + 40, c5)
    _mm256_storeu_ps(c + 48, c6)
    _mm256_storeu_ps(c + 56, c7)
}

/// One group of four tokens.
@inline(__always)
private func addTokens(_ product: LowRankProduct, _ token: Int, _ output: Int) {
    let (rank, stride) = (product.rank, product.cStride)
    let h0 = product.h + token &* rank
    let (h1, h2, h3) = (h0 + rank, h0 + 2 &* rank, h0 + 3 &* rank)
    let b = product.b + output &* rank
    let y0 = product.c + place(product, token, output)
    let (y1, y2, y3) = (y0 + stride, y0 + 2 &* stride, y0 + 3 &* stride)
    var (c0, c1, c2, c3) = (load(y0), load(y0 + 8), load(y1), load(y1 + 8))
    var (c4, c5, c6, c7) = (load(y2), load(y2 + 8), load(y3), load(y3 + 8))
    for k in 0..<rank {
        let (low, high) = (load(b + k &* groupOutputs), load(b + (k &* groupOutputs &+ 8)))
        let (x0, x1, x2, x3) = (
            _mm256_set1_ps(h0[k]), _mm256_set1_ps(h1[k]), _mm256_set1_ps(h2[k]), _mm256_set1_ps(h3[k])
        )
        c0 = _mm256_fmadd_ps(x0, low, c0)
        c1 = _mm256_fmadd_ps(x0, high, c1)
        c2 = _mm256_fmadd_ps(x1, low, c2)
        c3 = _mm256_fmadd_ps(x1, high, c3)
        c4 = _mm256_fmadd_ps(x2, low, c4)
        c5 = _mm256_fmadd_ps(x2, high, c5)
        c6 = _mm256_fmadd_ps(x3, low, c6)
        c7 = _mm256_fmadd_ps(x3, high, c7)
    }
    _mm256_storeu_ps(y0, c0)
    _mm256_storeu_ps(y0 + 8, c1)
    _mm256_storeu_ps(y1, c2)
    _mm256_storeu_ps(y1 + 8, c3)
    _mm256_storeu_ps(y2, c4)
    _mm256_storeu_ps(y2 + 8, c5)
    _mm256_storeu_ps(y3, c6)
    _mm256_storeu_ps(y3 + 8, c7)
}
