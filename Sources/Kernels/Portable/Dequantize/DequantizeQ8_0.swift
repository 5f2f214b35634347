import KernelFormats

/// - Precondition: `count` is a multiple of 32.
public func dequantizeQ8_0(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ8_0.values) {
        let block = BlockQ8_0(source + i * BlockQ8_0.bytes)
        let out = destination + i * BlockQ8_0.values
        let (d, qs) = (block.d, block.qs)
        for j in 0..<BlockQ8_0.values { out[j] = d * Float(qs[j]) }
    }
}
