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
    let blocks = Dequantization(source: source, destination: destination, count: count / type.blockValues)
    if type.run(blocks) == nil { dequantizeNumbers(type, source, into: destination, count: count) }
}

private struct Dequantization: PortableKernel {
    let source: UnsafeRawPointer
    let destination: UnsafeMutablePointer<Float>
    let count: Int

    func run<B: PortableBlock>(_: B.Type) { B.dequantize(source, into: destination, count: count) }
}
