// Products of a tile of activations and packed weights in F32, F16 and BF16: 12 tokens by two groups of rows are 24 sums in
// registers.

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
    switch product.tokens {
    case 1: multiply(Numbers.self, OneRow<Panels>.self, product)
    case 2: multiply(Numbers.self, TwoRows<Panels>.self, product)
    case 3: multiply(Numbers.self, ThreeRows.self, product)
    case 4: multiply(Numbers.self, FourRows<Panels>.self, product)
    case 5: multiply(Numbers.self, JoinedRows<FourRows<Panels>, OneRow<Panels>>.self, product)
    case 6: multiply(Numbers.self, JoinedRows<FourRows<Panels>, TwoRows<Panels>>.self, product)
    case 7: multiply(Numbers.self, JoinedRows<FourRows<Panels>, ThreeRows>.self, product)
    case 8: multiply(Numbers.self, EightRows<Panels>.self, product)
    case 9: multiply(Numbers.self, JoinedRows<EightRows<Panels>, OneRow<Panels>>.self, product)
    case 10: multiply(Numbers.self, JoinedRows<EightRows<Panels>, TwoRows<Panels>>.self, product)
    case 11: multiply(Numbers.self, JoinedRows<EightRows<Panels>, ThreeRows>.self, product)
    default: multiply(Numbers.self, JoinedRows<EightRows<Panels>, FourRows<Panels>>.self, product)
    }
}

/// 16 rows of each of two groups.
private typealias Panels = VectorPair<SixteenFloats>
private typealias ThreeRows = JoinedRows<TwoRows<Panels>, OneRow<Panels>>

@inline(never)
private func multiply<Numbers: NumberFormat, S: RowSums>(
    _: Numbers.Type, _: S.Type, _ product: PackedFloatProduct
) where S.V == Panels {
    multiplyPackedFloats(Numbers.self, S.self, product)
}
