// Products of a tile of activations and packed weights in F32, F16 and BF16: six tokens by a group of rows are twelve sums in
// registers, beside the weights and an activation.

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
private func multiply<Numbers: NumberFormat>(_: Numbers.Type, _ product: PackedFloatProduct) {
    var first = 0
    while first < product.tokens {
        // As even as possible: four and three rather than six and one.
        let left = product.tokens &- first
        let count = left > 6 ? (left &+ 1) / 2 : left
        switch count {
        // Of one or two tokens by two groups, since the few sums of one group would wait for each other.
        case 1: multiply(Numbers.self, OneRow<VectorPair<Group>>.self, product, first)
        case 2: multiply(Numbers.self, TwoRows<VectorPair<Group>>.self, product, first)
        case 3: multiply(Numbers.self, JoinedRows<TwoRows<Group>, OneRow<Group>>.self, product, first)
        case 4: multiply(Numbers.self, FourRows<Group>.self, product, first)
        case 5: multiply(Numbers.self, JoinedRows<FourRows<Group>, OneRow<Group>>.self, product, first)
        default: multiply(Numbers.self, SixRows<Group>.self, product, first)
        }
        first &+= count
    }
}

/// 16 rows.
private typealias Group = VectorPair<EightFloats>

@inline(never)
private func multiply<Numbers: NumberFormat, S: RowSums, Half>(
    _: Numbers.Type, _: S.Type, _ product: PackedFloatProduct, _ firstToken: Int
) where S.V == VectorPair<Half> {
    multiplyPackedFloats(Numbers.self, S.self, product, firstToken: firstToken)
}
