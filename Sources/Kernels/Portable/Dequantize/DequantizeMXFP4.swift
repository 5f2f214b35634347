import KernelFormats

/// - Precondition: `count` is a multiple of 32.
public func dequantizeMXFP4(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockMXFP4.values) {
        let block = BlockMXFP4(source + i * BlockMXFP4.bytes)
        let out = destination + i * BlockMXFP4.values
        let (d, qs) = (block.halfScale, block.qs)
        for j in 0..<16 {
            out[j] = d * Float(doubledE2M1[Int(qs[j] & 15)])
            out[16 + j] = d * Float(doubledE2M1[Int(qs[j] >> 4)])
        }
    }
}
