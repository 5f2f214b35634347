public import KernelFormats

/// Converts `count` values of a tensor, from one or more of its rows, to floats.
///
/// For formats that the gguf Python package supports, results equal those of its `gguf.quants.dequantize` bitwise,
/// except for the payloads of NaNs.
///
/// - Precondition: `count` is a multiple of `type.blockValues`, `source` covers that many values and need not be
///   aligned, `destination` has room for `count` floats.
public func dequantize(
    _ type: TensorType, _ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int
) {
    switch type {
    case .F32: dequantizeF32(source, into: destination, count: count)
    case .F16: dequantizeF16(source, into: destination, count: count)
    case .BF16: dequantizeBF16(source, into: destination, count: count)
    case .F64: dequantizeF64(source, into: destination, count: count)
    case .I8: dequantizeI8(source, into: destination, count: count)
    case .I16: dequantizeI16(source, into: destination, count: count)
    case .I32: dequantizeI32(source, into: destination, count: count)
    case .I64: dequantizeI64(source, into: destination, count: count)
    case .Q1_0: dequantizeQ1_0(source, into: destination, count: count)
    case .Q2_0: dequantizeQ2_0(source, into: destination, count: count)
    case .Q4_0: dequantizeQ4_0(source, into: destination, count: count)
    case .Q4_1: dequantizeQ4_1(source, into: destination, count: count)
    case .Q5_0: dequantizeQ5_0(source, into: destination, count: count)
    case .Q5_1: dequantizeQ5_1(source, into: destination, count: count)
    case .Q8_0: dequantizeQ8_0(source, into: destination, count: count)
    case .Q8_1: dequantizeQ8_1(source, into: destination, count: count)
    case .Q8_K: dequantizeQ8_K(source, into: destination, count: count)
    case .Q2_K: dequantizeQ2_K(source, into: destination, count: count)
    case .Q3_K: dequantizeQ3_K(source, into: destination, count: count)
    case .Q4_K: dequantizeQ4_K(source, into: destination, count: count)
    case .Q5_K: dequantizeQ5_K(source, into: destination, count: count)
    case .Q6_K: dequantizeQ6_K(source, into: destination, count: count)
    case .TQ1_0: dequantizeTQ1_0(source, into: destination, count: count)
    case .TQ2_0: dequantizeTQ2_0(source, into: destination, count: count)
    case .MXFP4: dequantizeMXFP4(source, into: destination, count: count)
    case .NVFP4: dequantizeNVFP4(source, into: destination, count: count)
    case .IQ1_S: dequantizeIQ1_S(source, into: destination, count: count)
    case .IQ1_M: dequantizeIQ1_M(source, into: destination, count: count)
    case .IQ2_XXS: dequantizeIQ2_XXS(source, into: destination, count: count)
    case .IQ2_XS: dequantizeIQ2_XS(source, into: destination, count: count)
    case .IQ2_S: dequantizeIQ2_S(source, into: destination, count: count)
    case .IQ3_XXS: dequantizeIQ3_XXS(source, into: destination, count: count)
    case .IQ3_S: dequantizeIQ3_S(source, into: destination, count: count)
    case .IQ4_NL: dequantizeIQ4_NL(source, into: destination, count: count)
    case .IQ4_XS: dequantizeIQ4_XS(source, into: destination, count: count)
    }
}
