// Products of a tile of activations and packed weights in F32, F16 and BF16.
//
// 12 tokens by two groups of rows are 24 sums in registers. A column takes two loads of weights, which are converted on
// the way, and 12 broadcasts for 24 multiply-adds, so it is bound by the units that multiply. Sums are in the order of the
// columns: those of a token are the same, bit for bit, in a tile of any size, and in the portable tier.

import CIntrinsics
public import KernelFormats
import KernelsFloat

/// As `KernelsPortable.multiplyPackedFloats`, with the same bits.
@inline(never)
public func multiplyPackedFloats(_ product: PackedFloatProduct) {
    switch product.type {
    case .F16: multiply(HalfNumbers.self, product)
    case .BF16: multiply(BFloatNumbers.self, product)
    default: multiply(FloatNumbers.self, product)
    }
}

@inline(__always)
private func multiply<Format: NumberFormat>(_: Format.Type, _ product: PackedFloatProduct) {
    switch product.tokens {
    case 1: multiply(Format.self, OneRow<Panels>.self, product)
    case 2: multiply(Format.self, TwoRows<Panels>.self, product)
    case 3: multiply(Format.self, ThreeRows.self, product)
    case 4: multiply(Format.self, FourRows<Panels>.self, product)
    case 5: multiply(Format.self, JoinedRows<FourRows<Panels>, OneRow<Panels>>.self, product)
    case 6: multiply(Format.self, JoinedRows<FourRows<Panels>, TwoRows<Panels>>.self, product)
    case 7: multiply(Format.self, JoinedRows<FourRows<Panels>, ThreeRows>.self, product)
    case 8: multiply(Format.self, EightRows<Panels>.self, product)
    case 9: multiply(Format.self, JoinedRows<EightRows<Panels>, OneRow<Panels>>.self, product)
    case 10: multiply(Format.self, JoinedRows<EightRows<Panels>, TwoRows<Panels>>.self, product)
    case 11: multiply(Format.self, JoinedRows<EightRows<Panels>, ThreeRows>.self, product)
    default: multiply(Format.self, JoinedRows<EightRows<Panels>, FourRows<Panels>>.self, product)
    }
}

/// 16 rows of each of two groups.
private typealias Panels = VectorPair<SixteenFloats>
private typealias ThreeRows = JoinedRows<TwoRows<Panels>, OneRow<Panels>>

/// Bytes from the weights that are multiplied to those that are prefetched to the L2 cache; see `bytesAhead`.
private let distance = 4096

@inline(never)
private func multiply<Format: NumberFormat, S: RowSums>(_: Format.Type, _: S.Type, _ product: PackedFloatProduct)
where S.V == Panels {
    var group = 0
    while group < product.groups {
        // Of an odd number of groups, the last is read twice and its results are stored twice.
        let second = group &+ 1 < product.groups ? group &+ 1 : group
        let w0 = product.weights + group &* product.groupBytes
        let w1 = product.weights + second &* product.groupBytes
        let c0 = product.c + PackedFloats.rows &* group
        let c1 = product.c + PackedFloats.rows &* second
        let accumulate = product.accumulate
        var sums = S {
            let token = $0 &* product.cStride
            return accumulate ? Panels(.load(c0 + token), .load(c1 + token)) : Panels(0)
        }
        var activations = product.tile
        var offset = 0
        for _ in 0..<product.columns {
            // The same of the next tile.
            prefetch(activations + S.rows &* FloatTile.sliceColumns)
            prefetch_to_l2(w0 + (offset &+ distance))
            prefetch_to_l2(w1 + (offset &+ distance))
            sums.add(Panels(Format.load(w0 + offset), Format.load(w1 + offset))) { activations[$0] }
            activations += S.rows
            offset &+= 16 &* Format.bytes
        }
        sums.forEachReversed {
            $1.low.store(c0 + $0 &* product.cStride)
            $1.high.store(c1 + $0 &* product.cStride)
        }
        group &+= 2
    }
}
