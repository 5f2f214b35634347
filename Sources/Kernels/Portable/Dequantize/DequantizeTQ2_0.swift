import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeTQ2_0(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockTQ2_0.values) {
        let block = BlockTQ2_0(source + i * BlockTQ2_0.bytes)
        let out = destination + i * BlockTQ2_0.values
        let d = block.d
        for group in 0..<8 {  // of 32 values: four for each 32 bytes
            let qs = block.qs + 32 * (group >> 2)
            let shift = UInt8(truncatingIfNeeded: 2 * (group & 3))
            for j in 0..<32 { out[32 * group + j] = d * Float(Int32((qs[j] &>> shift) & 3) - 1) }
        }
    }
}
