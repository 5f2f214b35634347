import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeQ8_K(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockQ8_K.values) {
        let block = BlockQ8_K(source + i * BlockQ8_K.bytes)
        let out = destination + i * BlockQ8_K.values
        let (d, qs) = (block.d, block.qs)
        for j in 0..<BlockQ8_K.values { out[j] = d * Float(qs[j]) }
    }
}
