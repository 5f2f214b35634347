import KernelFormats

/// - Precondition: `count` is a multiple of 256.
public func dequantizeTQ1_0(_ source: UnsafeRawPointer, into destination: UnsafeMutablePointer<Float>, count: Int) {
    for i in 0..<(count / BlockTQ1_0.values) {
        let block = BlockTQ1_0(source + i * BlockTQ1_0.bytes)
        let out = destination + i * BlockTQ1_0.values
        let d = block.d
        var power: UInt8 = 1
        for n in 0..<5 {
            for j in 0..<32 { out[32 * n + j] = d * digit(block.qs[j] &* power) }
            for j in 0..<16 { out[160 + 16 * n + j] = d * digit(block.qs[32 + j] &* power) }
            if n < 4 { for j in 0..<4 { out[240 + 4 * n + j] = d * digit(block.qh[j] &* power) } }
            power &*= 3
        }
    }
}

/// The first base-3 digit of a fraction in units of 1/256, as -1, 0 or 1.
@inline(__always)
private func digit(_ fraction: UInt8) -> Float { Float(Int32((UInt16(fraction) * 3) >> 8) - 1) }
