import KernelFormats

/// - Precondition: `count` is a multiple of 32.
public func dequantizeQ8_1(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ8_1.values) {
        let block = BlockQ8_1(source + i * BlockQ8_1.bytes)
        let out = destination + i * BlockQ8_1.values
        let (d, qs) = (block.d, block.qs)
        for j in 0..<BlockQ8_1.values { out[j] = d * Float(qs[j]) }
    }
}
