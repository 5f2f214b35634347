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
        default:
            let halves: [Int] =
                switch type {
                case .Q4_1, .Q5_1, .Q4_K, .Q5_K: [0, 2]
                case .Q2_K: [80, 82]
                case .Q3_K: [108]
                case .Q6_K: [208]
                default: [0]
                }
            for block in 0..<blocks {
                for offset in halves { bytes[block * type.blockBytes + offset + 1] = 0x2c + bytes[block] % 4 }
            }
        }
        return bytes
    }
}
