public import KernelFormats

extension TensorType {
    /// Formats that `quantize` supports.
    public static let quantizable: [TensorType] = [
        .F32, .F16, .BF16, .Q4_0, .Q4_1, .Q5_0, .Q5_1, .Q8_0, .Q2_K, .Q3_K, .Q4_K, .Q5_K, .Q6_K,
        .IQ4_NL, .IQ4_XS,
        .MXFP4,
    ]
}

/// Quantizes `count` values of a row to a format, minimizing the sum of `importance[i] · (x[i] − x̂[i])²`.
///
/// The scale of each group is searched for (`fitScale`, `fitLine`): scales around the one that just reaches the largest
/// value are tried, and each is then fitted to its codes.
///
/// - Parameter loops: The loops of the processor's tier; the result does not depend on them.
/// - Precondition: `type` is one of `TensorType.quantizable`, `count` a multiple of `type.blockValues`; values are
///   finite, importance is finite and not negative; `destination` has room for the blocks.
/// - Note: Values out of the range of a half-precision scale give blocks with infinite scales, which
///   `firstNonFiniteBlock` finds.
public func quantize(
    _ type: TensorType, _ source: UnsafePointer<Float>, importance: UnsafePointer<Float>,
    into destination: UnsafeMutableRawPointer, count: Int, loops: GroupLoops = .portable
) {
    let (values, bytes) = (type.blockValues, type.blockBytes)
    /// Calls `body` for each block.
    @inline(__always)
    func blocks(_ body: (Group, UnsafeMutableRawPointer, GroupLoops) -> Void) {
        for block in 0..<(count / values) {
            let group = Group(source + block &* values, importance + block &* values, count: values)
            body(group, destination + block &* bytes, loops)
        }
    }
    switch type {
    case .F32: destination.copyMemory(from: source, byteCount: 4 &* count)
    case .F16:
        storeHalf(
            source, into: destination.assumingMemoryBound(to: UInt16.self), stride: 1, count: count)
    case .BF16:
        storeBFloat16(source, into: destination.assumingMemoryBound(to: UInt16.self), count: count)
    case .Q4_0: blocks(quantizeQ4_0)
    case .Q4_1: blocks(quantizeQ4_1)
    case .Q5_0: blocks(quantizeQ5_0)
    case .Q5_1: blocks(quantizeQ5_1)
    case .Q8_0: blocks(quantizeQ8_0)
    case .IQ4_NL: blocks(quantizeIQ4_NL)
    case .MXFP4: blocks(quantizeMXFP4)
    case .Q2_K: blocks(quantizeQ2_K)
    case .Q3_K: blocks(quantizeQ3_K)
    case .Q4_K: blocks(quantizeQ4_K)
    case .Q5_K: blocks(quantizeQ5_K)
    case .Q6_K: blocks(quantizeQ6_K)
    case .IQ4_XS: blocks(quantizeIQ4_XS)
    default: preconditionFailure("no quantizer for \(type.name)")
    }
}

/// Stores the nearest bfloat16 values, ties to even; NaN stays NaN.
private func storeBFloat16(
    _ source: UnsafePointer<Float>, into destination: UnsafeMutablePointer<UInt16>, count: Int
) {
    for index in 0..<count {
        let bits = source[index].bitPattern
        let rounded = bits &+ 0x7fff &+ ((bits >> 16) & 1)
        let isNaN = bits & 0x7fff_ffff > 0x7f80_0000
        destination[index] = UInt16(truncatingIfNeeded: (isNaN ? bits | 0x40_0000 : rounded) >> 16)
    }
}
