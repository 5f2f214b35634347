// Products of a tile of activations and packed weights in F32, F16 and BF16.
//
// A column takes loads of two registers of weights, or of two pairs, which are converted on the way, and a broadcast for each
// token, so it is bound by the units that multiply. Sums are in the order of the columns: those of a token are the same, bit
// for bit, in a tile of any size, and in the portable tier.

public import CIntrinsics
public import KernelFormats

/// As `KernelsPortable.multiplyPackedFloats`, with the same bits, for some tokens of the tile.
///
/// - Parameter firstToken: The first of the tokens, as many as `S` has rows. A vector of `S` has 16 rows of weights, or of
///   each of two groups.
@inlinable @inline(__always)
public func multiplyPackedFloats<Numbers: NumberFormat, S: RowSums, Half>(
    _: Numbers.Type, _: S.Type, _ product: PackedFloatProduct, firstToken: Int = 0
) where S.V == VectorPair<Half> {
    let (accumulate, tokens) = (product.accumulate, product.tokens)
    let rowBytes = PackedFloats.rows &* Numbers.bytes
    // From the weights that are multiplied to those that are prefetched to the L2 cache.
    let distance = 4096
    // The same to the L1 cache.
    let distanceInL1 = prefetches_twice(tokens) != 0 ? 1024 : nil
    let takesTwoGroups = Half.count == PackedFloats.rows
    var group = 0
    while group < product.groups {
        // Of an odd number of groups, the last is read twice and its results are stored twice.
        let count = takesTwoGroups ? min(2, product.groups &- group) : 1
        let w0 = product.weights + group &* product.groupBytes
        let w1 = w0 + (takesTwoGroups ? (count &- 1) &* product.groupBytes : Half.count &* Numbers.bytes)
        let c0 = product.c + (firstToken &* product.cStride &+ PackedFloats.rows &* group)
        let c1 = c0 + (takesTwoGroups ? count &- 1 : 1) &* Half.count
        var sums = S {
            let token = $0 &* product.cStride
            return accumulate ? VectorPair(.load(c0 + token), .load(c1 + token)) : VectorPair(0)
        }
        var activations = product.tile + firstToken
        var offset = 0
        for _ in 0..<product.columns {
            // The same columns of the next tile.
            prefetch(activations + tokens &* FloatTile.sliceColumns)
            prefetch_to_l2(w0 + (offset &+ distance))
            if takesTwoGroups { prefetch_to_l2(w1 + (offset &+ distance)) }
            if let distanceInL1 {
                prefetch(w0 + (offset &+ distanceInL1))
                if takesTwoGroups { prefetch(w1 + (offset &+ distanceInL1)) }
            }
            sums.add(VectorPair(Numbers.load(w0 + offset), Numbers.load(w1 + offset))) { activations[$0] }
            activations += tokens
            offset &+= rowBytes
        }
        sums.forEachReversed {
            $1.low.store(c0 + $0 &* product.cStride)
            $1.high.store(c1 + $0 &* product.cStride)
        }
        group &+= count
    }
}
