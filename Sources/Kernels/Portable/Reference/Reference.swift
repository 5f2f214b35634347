import KernelFormats

/// A format's blocks as the portable tier reads them, which is the reference for the others. Files beside this one have the formats.
protocol ReferenceBlock: Block {
    /// Writes the block's values.
    func write(to out: UnsafeMutablePointer<Float>)

    /// Where two half-precision scales are in the block, or one twice.
    static var halfScales: (Int, Int) { get }
    var hasFiniteScales: Bool { get }

    // Requirements, though all formats have the same, so that each has functions that were compiled for it.

    static func dequantize(_ blocks: UnsafeRawPointer, into out: UnsafeMutablePointer<Float>, count: Int)
    static func firstNonFinite(_ blocks: UnsafeRawPointer, count: Int) -> Int?
}

extension ReferenceBlock {
    static var halfScales: (Int, Int) { (0, 0) }

    var hasFiniteScales: Bool {
        @inline(__always)
        func isFinite(_ offset: Int) -> Bool {
            UInt16(littleEndian: (base + offset).loadUnaligned(as: UInt16.self)) & 0x7c00 != 0x7c00
        }
        return isFinite(Self.halfScales.0) && isFinite(Self.halfScales.1)
    }

    static func dequantize(_ blocks: UnsafeRawPointer, into out: UnsafeMutablePointer<Float>, count: Int) {
        for index in 0..<count { Self(blocks + index &* bytes).write(to: out + index &* values) }
    }

    static func firstNonFinite(_ blocks: UnsafeRawPointer, count: Int) -> Int? {
        (0..<count).first { !Self(blocks + $0 &* bytes).hasFiniteScales }
    }
}

extension TensorType {
    /// `nil` for types of single numbers.
    var reference: (any ReferenceBlock.Type)? {
        switch self {
        case .F32, .F16, .BF16, .F64, .I8, .I16, .I32, .I64: nil
        case .Q1_0: BlockQ1_0.self
        case .Q2_0: BlockQ2_0.self
        case .Q4_0: BlockQ4_0.self
        case .Q4_1: BlockQ4_1.self
        case .Q5_0: BlockQ5_0.self
        case .Q5_1: BlockQ5_1.self
        case .Q8_0: BlockQ8_0.self
        case .Q8_1: BlockQ8_1.self
        case .Q8_K: BlockQ8_K.self
        case .Q2_K: BlockQ2_K.self
        case .Q3_K: BlockQ3_K.self
        case .Q4_K: BlockQ4_K.self
        case .Q5_K: BlockQ5_K.self
        case .Q6_K: BlockQ6_K.self
        case .TQ1_0: BlockTQ1_0.self
        case .TQ2_0: BlockTQ2_0.self
        case .MXFP4: BlockMXFP4.self
        case .NVFP4: BlockNVFP4.self
        case .IQ1_S: BlockIQ1_S.self
        case .IQ1_M: BlockIQ1_M.self
        case .IQ2_XXS: BlockIQ2_XXS.self
        case .IQ2_XS: BlockIQ2_XS.self
        case .IQ2_S: BlockIQ2_S.self
        case .IQ3_XXS: BlockIQ3_XXS.self
        case .IQ3_S: BlockIQ3_S.self
        case .IQ4_NL: BlockIQ4_NL.self
        case .IQ4_XS: BlockIQ4_XS.self
        }
    }
}
