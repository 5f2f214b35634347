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
    addOutputs(first..<wholeStart, product)
    var token = 0
    while token &+ 4 <= product.tokens {
        for output in stride(from: wholeStart, to: wholeEnd, by: groupOutputs) {
            add(
                Part(product, token, output), Part(product, token &+ 1, output), Part(product, token &+ 2, output),
                Part(product, token &+ 3, output), rank: product.rank)
        }
        token &+= 4
    }
    while token < product.tokens {
        var output = wholeStart
        while output &+ 4 &* groupOutputs <= wholeEnd {
            add(
                Part(product, token, output), Part(product, token, output &+ groupOutputs),
                Part(product, token, output &+ 2 &* groupOutputs), Part(product, token, output &+ 3 &* groupOutputs),
                rank: product.rank)
            output &+= 4 &* groupOutputs
        }
        while output < wholeEnd {
            add(Part(product, token, output), rank: product.rank)
            output &+= groupOutputs
        }
        token &+= 1
    }
    addOutputs(wholeEnd..<end, product)
}

/// Some outputs of a group, for all tokens.
private func addOutputs(_ outputs: Range<Int>, _ product: LowRankProduct) {
    guard !outputs.isEmpty else { return }
    let lane = outputs.lowerBound % groupOutputs
    for token in 0..<product.tokens {
        let c = Part(product, token, outputs.lowerBound).c
        var group = SIMD16<Float>()
        for index in 0..<outputs.count { group[lane &+ index] = c[index] }
        withUnsafeMutableBytes(of: &group) {
            var part = Part(product, token, outputs.lowerBound &- lane)
            part.c = $0.baseAddress!.assumingMemoryBound(to: Float.self)
            add(part, rank: product.rank)
        }
        for index in 0..<outputs.count { c[index] = group[lane &+ index] }
    }
}

/// A group of outputs of one token.
private struct Part {
    let h: UnsafePointer<Float>
    let b: UnsafePointer<Float>
    var c: UnsafeMutablePointer<Float>

    @inline(__always)
    init(_ product: LowRankProduct, _ token: Int, _ output: Int) {
        h = product.h + token &* product.rank
        b = product.b + output &* product.rank
        c = product.c + (token &* product.cStride &+ output &- product.outputs.lowerBound)
    }
}

/// Four parts of the same token, or of the same outputs: what they have in common is loaded once.
@inline(__always)
private func add(_ p0: Part, _ p1: Part, _ p2: Part, _ p3: Part, rank: Int) {
    var (c0, c1, c2, c3) = (load(p0.c), load(p0.c + 8), load(p1.c), load(p1.c + 8))
    var (c4, c5, c6, c7) = (load(p2.c), load(p2.c + 8), load(p3.c), load(p3.c + 8))
    for k in 0..<rank {
        let (low, high) = (k &* groupOutputs, k &* groupOutputs &+ 8)
        let (x0, x1) = (_mm256_set1_ps(p0.h[k]), _mm256_set1_ps(p1.h[k]))
        let (x2, x3) = (_mm256_set1_ps(p2.h[k]), _mm256_set1_ps(p3.h[k]))
        c0 = _mm256_fmadd_ps(x0, load(p0.b + low), c0)
        c1 = _mm256_fmadd_ps(x0, load(p0.b + high), c1)
        c2 = _mm256_fmadd_ps(x1, load(p1.b + low), c2)
        c3 = _mm256_fmadd_ps(x1, load(p1.b + high), c3)
        c4 = _mm256_fmadd_ps(x2, load(p2.b + low), c4)
        c5 = _mm256_fmadd_ps(x2, load(p2.b + high), c5)
        c6 = _mm256_fmadd_ps(x3, load(p3.b + low), c6)
        c7 = _mm256_fmadd_ps(x3, load(p3.b + high), c7)
    }
    _mm256_storeu_ps(p0.c, c0)
    _mm256_storeu_ps(p0.c + 8, c1)
    _mm256_storeu_ps(p1.c, c2)
    _mm256_storeu_ps(p1.c + 8, c3)
    _mm256_storeu_ps(p2.c, c4)
    _mm256_storeu_ps(p2.c + 8, c5)
    _mm256_storeu_ps(p3.c, c6)
    _mm256_storeu_ps(p3.c + 8, c7)
}

@inline(__always)
private func add(_ part: Part, rank: Int) {
    var (c0, c1) = (load(part.c), load(part.c + 8))
    for k in 0..<rank {
        let x = _mm256_set1_ps(part.h[k])
        c0 = _mm256_fmadd_ps(x, load(part.b + k &* groupOutputs), c0)
        c1 = _mm256_fmadd_ps(x, load(part.b + (k &* groupOutputs &+ 8)), c1)
    }
    _mm256_storeu_ps(part.c, c0)
    _mm256_storeu_ps(part.c + 8, c1)
}
