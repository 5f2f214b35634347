import KernelFormats

/// - Precondition: `count` is a multiple of 64.
public func dequantizeNVFP4(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockNVFP4.values) {
        let block = BlockNVFP4(source + i * BlockNVFP4.bytes)
        let out = destination + i * BlockNVFP4.values
        for group in 0..<4 {  // of 16 values
            let (d, qs) = (block.halfScale(group), block.qs + 8 * group)
            for j in 0..<8 {
                out[16 * group + j] = d * Float(doubledE2M1[Int(qs[j] & 15)])
                out[16 * group + 8 + j] = d * Float(doubledE2M1[Int(qs[j] >> 4)])
            }
        }
    }
}
