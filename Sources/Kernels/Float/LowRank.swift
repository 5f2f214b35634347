// The second product of low-rank updates (LoRA): C[tokens, outputs] += H[tokens, rank] · B[outputs, rank]ᵀ.
//
// One token takes four groups of 16 outputs at a time, several tokens share the vectors of B: either way there are enough
// sums to hide the latency of a multiply-add. An output's terms are added in the order of the rank, so its bits do not
// depend on the tokens and outputs beside it.

public import KernelFormats

/// As `KernelsPortable.addLowRank`, with fused multiply-adds.
///
/// - Parameter Group: A vector of `LowRankProduct.groupOutputs` floats.
@inlinable @inline(__always)
public func addLowRank<Group: KernelVector>(_: Group.Type, _ product: LowRankProduct) {
    let (first, end) = (product.outputs.lowerBound, product.outputs.upperBound)
    let wholeStart = Swift.min(end, (first &+ Group.count &- 1) / Group.count &* Group.count)
    let wholeEnd = Swift.max(wholeStart, end / Group.count &* Group.count)
    addOutputs(Group.self, first..<wholeStart, product)
    var token = 0
    while token &+ 4 <= product.tokens {
        for output in stride(from: wholeStart, to: wholeEnd, by: Group.count) {
            add(FourRows<Group>.self, product, token, output)
        }
        token &+= 4
    }
    while token < product.tokens {
        var output = wholeStart
        while output &+ 4 &* Group.count <= wholeEnd {
            addFourGroups(Group.self, product, token, output)
            output &+= 4 &* Group.count
        }
        while output < wholeEnd {
            add(OneRow<Group>.self, product, token, output)
            output &+= Group.count
        }
        token &+= 1
    }
    addOutputs(Group.self, wholeEnd..<end, product)
}

/// A group of outputs of some tokens.
@inlinable @inline(__always)
func add<Sums: RowSums>(_: Sums.Type, _ product: LowRankProduct, _ token: Int, _ output: Int) {
    let c = product.c + (token &* product.cStride &+ output &- product.outputs.lowerBound)
    add(Sums.self, product, token, output, into: c)
}

@inlinable @inline(__always)
func add<Sums: RowSums>(
    _: Sums.Type, _ product: LowRankProduct, _ token: Int, _ output: Int, into c: UnsafeMutablePointer<Float>
) {
    let (h, b) = (product.h + token &* product.rank, product.b + output &* product.rank)
    var sums = Sums { .load(c + $0 &* product.cStride) }
    for k in 0..<product.rank { sums.add(.load(b + k &* Sums.V.count)) { h[$0 &* product.rank &+ k] } }
    sums.forEachReversed { $1.store(c + $0 &* product.cStride) }
}

/// Four groups of outputs of one token.
@inlinable @inline(__always)
func addFourGroups<Group: KernelVector>(_: Group.Type, _ product: LowRankProduct, _ token: Int, _ output: Int) {
    let (h, b0) = (product.h + token &* product.rank, product.b + output &* product.rank)
    let groupFloats = product.rank &* Group.count
    let (b1, b2, b3) = (b0 + groupFloats, b0 + 2 &* groupFloats, b0 + 3 &* groupFloats)
    let c = product.c + (token &* product.cStride &+ output &- product.outputs.lowerBound)
    var sums = OneRow<VectorPair<VectorPair<Group>>> { _ in .load(c) }
    for k in 0..<product.rank {
        let row = k &* Group.count
        let low = VectorPair<Group>(.load(b0 + row), .load(b1 + row))
        sums.add(VectorPair(low, VectorPair(.load(b2 + row), .load(b3 + row)))) { _ in h[k] }
    }
    sums.forEachReversed { $1.store(c) }
}

/// Some outputs of a group, for all tokens.
@inlinable @inline(__always)
func addOutputs<Group: KernelVector>(_: Group.Type, _ outputs: Range<Int>, _ product: LowRankProduct) {
    guard !outputs.isEmpty else { return }
    let lane = outputs.lowerBound % Group.count
    for token in 0..<product.tokens {
        let c = product.c + (token &* product.cStride &+ outputs.lowerBound &- product.outputs.lowerBound)
        withUnsafeTemporaryAllocation(of: Float.self, capacity: Group.count) {
            let group = $0.baseAddress!
            Group(0).store(group)
            for index in 0..<outputs.count { group[lane &+ index] = c[index] }
            add(OneRow<Group>.self, product, token, outputs.lowerBound &- lane, into: group)
            for index in 0..<outputs.count { c[index] = group[lane &+ index] }
        }
    }
}
