// Dequantizes rows of weights to floats.

import CIntrinsics
public import KernelFormats

/// As `KernelsPortable.dequantize`, for a multiple of 32 values.
///
/// - Returns: Whether this tier supports the format; if not, nothing is written.
@inline(never)
public func dequantize(
    _ type: TensorType, _ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int
) -> Bool {
    switch type {
    case .F32: store(F32.self, source, destination, count)
    case .F16: store(F16.self, source, destination, count)
    case .BF16: store(BF16.self, source, destination, count)
    case .Q4_0: store(Q4_0.self, source, destination, count)
    case .Q4_1: store(Q4_1.self, source, destination, count)
    case .Q5_0: store(Q5_0.self, source, destination, count)
    case .Q5_1: store(Q5_1.self, source, destination, count)
    case .Q8_0: store(Q8_0.self, source, destination, count)
    case .Q2_K: store(Q2_K.self, source, destination, count)
    case .Q3_K: store(Q3_K.self, source, destination, count)
    case .Q4_K: store(Q4_K.self, source, destination, count)
    case .Q5_K: store(Q5_K.self, source, destination, count)
    case .Q6_K: store(Q6_K.self, source, destination, count)
    case .IQ4_NL: store(IQ4_NL.self, source, destination, count)
    case .IQ4_XS: store(IQ4_XS.self, source, destination, count)
    case .F64, .I8, .I16, .I32, .I64, .Q8_1, .Q8_K, .Q1_0, .Q2_0, .IQ1_S, .IQ1_M, .IQ2_XXS, .IQ2_XS, .IQ2_S, .IQ3_XXS,
        .IQ3_S, .TQ1_0, .TQ2_0, .MXFP4, .NVFP4:
        return false
    }
    return true
}

@inline(__always)
private func store<F: Format>(
    _: F.Type, _ source: UnsafeRawPointer, _ destination: UnsafeMutablePointer<Float>, _ count: Int
) {
    var (block, out) = (source, destination)
    for _ in 0..<(count / F.values) {
        forEachGroup(of: F.self) { group in
            let w = F.unpack(block, group)
            UnsafeMutableRawPointer(out).storeBytes(of: w.0, as: Rows.self)
            UnsafeMutableRawPointer(out + 16).storeBytes(of: w.1, as: Rows.self)
            out += 32
        }
        block += F.bytes
    }
}

/// The loop over a block's groups, unrolled so that shifts and lanes are constants.
@inline(__always)
private func forEachGroup<F: Format>(of _: F.Type, _ body: (Int) -> Void) {
    body(0)
    guard F.values == 256 else { return }
    body(1)
    body(2)
    body(3)
    body(4)
    body(5)
    body(6)
    body(7)
}
