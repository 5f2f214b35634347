public import KernelFormats

/// Values of a row, their weights, and the place of their blocks.
@usableFromInline
struct QuantizedRow<V: Lanes, W: Weights> where W.V == V {
    @usableFromInline let values: UnsafePointer<Float>
    /// Not transposed.
    @usableFromInline let importance: UnsafePointer<Float>?
    @usableFromInline let destination: UnsafeMutableRawPointer
    @usableFromInline let count: Int

    @inlinable @inline(__always)
    init(
        _: W.Type, _ values: UnsafePointer<Float>, importance: UnsafePointer<Float>?,
        into destination: UnsafeMutableRawPointer, count: Int
    ) {
        (self.values, self.importance, self.destination, self.count) = (values, importance, destination, count)
    }

    /// Transposes groups of 32 values, at most eight; zeros take the place of those that are missing.
    @inlinable @inline(__always)
    func panel(_ start: Int, groups: Int, _ panel: Panel<V>) -> Groups<V, W> {
        guard groups < 8 else { return transposed(values + start, importance.map { $0 + start }, 32, panel) }
        return withUnsafeTemporaryAllocation(of: Float.self, capacity: 512) {
            let padded = $0.baseAddress!
            padded.update(repeating: 0, count: 512)
            padded.update(from: values + start, count: 32 &* groups)
            if let importance { (padded + 256).update(from: importance + start, count: 32 &* groups) }
            return transposed(padded, importance.map { _ in UnsafePointer(padded + 256) }, 32, panel)
        }
    }

    /// Transposes 256 values.
    @inlinable @inline(__always)
    func superblock(_ start: Int, groupSize: Int, _ panel: Panel<V>) -> Groups<V, W> {
        transposed(values + start, importance.map { $0 + start }, groupSize, panel)
    }

    @inlinable @inline(__always)
    func transposed(
        _ values: UnsafePointer<Float>, _ importance: UnsafePointer<Float>?, _ groupSize: Int, _ panel: Panel<V>
    ) -> Groups<V, W> {
        transpose(values, groupSize, into: panel.x)
        if let importance { transpose(importance, groupSize, into: panel.w) }
        return Groups(panel.x, W(panel.w), count: groupSize)
    }

    /// Transposes 256 values, eight groups after the other.
    @inlinable @inline(__always)
    func transpose(_ values: UnsafePointer<Float>, _ groupSize: Int, into columns: UnsafeMutablePointer<Float>) {
        for first in stride(from: 0, to: 256, by: 8 &* groupSize) {
            for column in stride(from: 0, to: groupSize, by: 8) {
                V.transpose(
                    values + (first &+ column), stride: groupSize, into: columns + (first &+ 8 &* column))
            }
        }
    }
}

/// Quantizes `count` values of a row to a block format, minimizing the sum of `importance[i] · (x[i] − x̂[i])²`.
///
/// The scale of each group is searched for: scales around the one that just reaches the largest value are tried, and
/// each is then fitted to its codes.
///
/// - Parameter importance: `nil`: the same for all values.
/// - Precondition: `type` is a block format of `TensorType.quantizable`, `count` a multiple of `type.blockValues`;
///   values are finite, importance is finite and not negative; `destination` has room for the blocks.
/// - Note: Values out of the range of a half-precision scale give blocks with infinite scales, which
///   `firstNonFiniteBlock` finds.
@inlinable @inline(__always)
public func quantizeRow<V: Lanes>(
    _: V.Type, _ type: TensorType, _ values: UnsafePointer<Float>, importance: UnsafePointer<Float>?,
    into destination: UnsafeMutableRawPointer, count: Int
) {
    if let importance {
        quantizeRow(
            type, QuantizedRow(StoredWeights<V>.self, values, importance: importance, into: destination, count: count))
    } else {
        quantizeRow(
            type, QuantizedRow(EqualWeights<V>.self, values, importance: nil, into: destination, count: count))
    }
}

@inlinable @inline(__always)
func quantizeRow<V: Lanes, W: Weights>(_ type: TensorType, _ row: QuantizedRow<V, W>) {
    switch type {
    case .Q4_0: quantizeQ4_0(row)
    case .Q4_1: quantizeQ4_1(row)
    case .Q5_0: quantizeQ5_0(row)
    case .Q5_1: quantizeQ5_1(row)
    case .Q8_0: quantizeQ8_0(row)
    case .IQ4_NL: quantizeIQ4_NL(row)
    case .MXFP4: quantizeMXFP4(row)
    case .Q2_K: quantizeQ2_K(row)
    case .Q3_K: quantizeQ3_K(row)
    case .Q4_K: quantizeQ4_K(row)
    case .Q5_K: quantizeQ5_K(row)
    case .Q6_K: quantizeQ6_K(row)
    case .IQ4_XS: quantizeIQ4_XS(row)
    default: preconditionFailure("no quantizer for \(type.name)")
    }
}
