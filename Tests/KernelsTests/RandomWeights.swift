import KernelFormats
import TestSupport

/// Weights in the formats of files.
enum RandomWeights {
    /// A row of `count` random weights: random bits, but the scales made finite and small.
    static func bytes(_ type: TensorType, _ count: Int) -> [UInt8] {
        let blocks = count / type.blockValues
        var bytes = SeededGenerator.bytes(blocks * type.blockBytes, seed: UInt64(type.rawValue) + 1)
        switch type {
        case .F32:
            var generator = SeededGenerator(seed: 3)
            return (0..<count).flatMap { _ in
                let value = Float.random(in: -1...1, using: &generator)
                return (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * $0)) }
            }
        case .F16, .BF16:
            // A high byte of 0x3_ or 0xb_ is a value between 0.1 and 2 in both formats.
            for i in stride(from: 1, to: bytes.count, by: 2) { bytes[i] = (bytes[i] & 0x83) | 0x38 }
        case .MXFP4:
            // An exponent of 0 is one of its own; the others are near each other.
            for block in 0..<blocks {
                let exponent = block == 0 ? 0 : 120 + bytes[block * type.blockBytes] % 4
                bytes[block * type.blockBytes] = exponent
            }
        case .NVFP4:
            // Any scale is finite; one is NaN, which counts as zero, and one a subnormal.
            bytes[0] = 0x7f
            bytes[1] = 0x05
        case .IQ1_M:
            // The high nibbles of four words are the scale, a half.
            for block in 0..<blocks {
                let words = block * type.blockBytes + 48
                for (index, nibble) in [7, 5, 12, 2].enumerated() {
                    bytes[words + 2 * index + 1] = bytes[words + 2 * index + 1] & 15 | UInt8(nibble << 4)
                }
            }
        default:
            let halves: [Int] =
                switch type {
                case .Q4_1, .Q5_1, .Q4_K, .Q5_K: [0, 2]
                case .Q2_K: [80, 82]
                case .Q3_K: [108]
                case .Q6_K: [208]
                case .TQ1_0: [52]
                case .TQ2_0: [64]
                default: [0]
                }
            for block in 0..<blocks {
                for offset in halves { bytes[block * type.blockBytes + offset + 1] = 0x2c + bytes[block] % 4 }
            }
        }
        return bytes
    }
}
