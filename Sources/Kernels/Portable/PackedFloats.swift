// Weights in F32, F16 and BF16 by groups of 16 rows; see `PackedFloats`.

public import KernelFormats

/// Packs 16 rows of `columns` weights, `rowBytes` apart, in any alignment.
@inline(never)
public func packFloats(
    _ type: TensorType, _ rows: UnsafeRawPointer, rowBytes: Int, columns: Int, into destination: UnsafeMutableRawPointer
) {
    if type == .F32 {
        interleave(rows, rowBytes, columns, destination, UInt32.self)
    } else {
        interleave(rows, rowBytes, columns, destination, UInt16.self)
    }
}

@inline(__always)
private func interleave<Bits: FixedWidthInteger>(
    _ rows: UnsafeRawPointer, _ rowBytes: Int, _ columns: Int, _ destination: UnsafeMutableRawPointer, _: Bits.Type
) {
    let size = MemoryLayout<Bits>.size
    let groupSize = size &* PackedFloats.rows
    var column = 0
    while column < columns {
        // A row's run at a time, whose stores stay in the L1 cache: twice as fast as column by column.
        let count = min(64, columns &- column)
        for row in 0..<PackedFloats.rows {
            let source = rows + (row &* rowBytes &+ size &* column)
            let target = destination + (groupSize &* column &+ size &* row)
            for index in 0..<count {
                let bits = (source + size &* index).loadUnaligned(as: Bits.self)
                target.storeBytes(of: bits, toByteOffset: groupSize &* index, as: Bits.self)
            }
        }
        column &+= 64
    }
}

/// Multiplies a tile by groups of packed weights.
///
/// A result is the sum of its products in the order of the columns, each added with one rounding. So it does not depend
/// on the number of tokens, nor on how the columns are divided among calls.
@inline(never)
public func multiplyPackedFloats(_ product: PackedFloatProduct) {
    let size = product.type.blockBytes
    for group in 0..<product.groups {
        for row in 0..<PackedFloats.rows {
            let weights = product.weights + (group &* product.groupBytes &+ size &* row)
            for token in 0..<product.tokens {
                let result = product.c + (token &* product.cStride &+ PackedFloats.rows &* group &+ row)
                var sum = product.accumulate ? result[0] : 0
                for column in 0..<product.columns {
                    var weight: Float = 0
                    dequantize(product.type, weights + size &* PackedFloats.rows &* column, into: &weight, count: 1)
                    sum.addProduct(product.tile[column &* product.tokens &+ token], weight)
                }
                result[0] = sum
            }
        }
    }
}
