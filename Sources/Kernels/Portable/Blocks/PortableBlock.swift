import KernelFormats

/// A block whose values the portable tier computes, as the reference for the other tiers, and that it packs. Each file of blocks beside
/// this one has the formats of a group.
protocol PortableBlock: Block {
    /// Writes the block's values.
    func write(to out: UnsafeMutablePointer<Float>)

    /// Where two half-precision scales are in the block, or one twice.
    static var halfScales: (Int, Int) { get }
    var hasFiniteScales: Bool { get }

    /// Packs the block, if its format has a `PackedLayout`. The same on every tier.
    func pack(_ row: PackedRow)
}

extension PortableBlock {
    static var halfScales: (Int, Int) { (0, 0) }

    /// For formats without a `PackedLayout`.
    func pack(_ row: PackedRow) {}

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

/// What the portable tier does with blocks of any format.
protocol PortableKernel {
    associatedtype Result
    func run<B: PortableBlock>(_: B.Type) -> Result
}

extension TensorType {
    /// Runs the kernel that was compiled for this format; `nil` for types of single numbers.
    func run<Kernel: PortableKernel>(_ kernel: Kernel) -> Kernel.Result? {
        switch self {
        case .F32, .F16, .BF16, .F64, .I8, .I16, .I32, .I64: nil
        case .Q1_0: kernel.run(BlockQ1_0.self)
        case .Q2_0: kernel.run(BlockQ2_0.self)
        case .Q4_0: kernel.run(BlockQ4_0.self)
        case .Q4_1: kernel.run(BlockQ4_1.self)
        case .Q5_0: kernel.run(BlockQ5_0.self)
        case .Q5_1: kernel.run(BlockQ5_1.self)
        case .Q8_0: kernel.run(BlockQ8_0.self)
        case .Q8_1: kernel.run(BlockQ8_1.self)
        case .Q8_K: kernel.run(BlockQ8_K.self)
        case .Q2_K: kernel.run(BlockQ2_K.self)
        case .Q3_K: kernel.run(BlockQ3_K.self)
        case .Q4_K: kernel.run(BlockQ4_K.self)
        case .Q5_K: kernel.run(BlockQ5_K.self)
        case .Q6_K: kernel.run(BlockQ6_K.self)
        case .TQ1_0: kernel.run(BlockTQ1_0.self)
        case .TQ2_0: kernel.run(BlockTQ2_0.self)
        case .MXFP4: kernel.run(BlockMXFP4.self)
        case .NVFP4: kernel.run(BlockNVFP4.self)
        case .IQ1_S: kernel.run(BlockIQ1_S.self)
        case .IQ1_M: kernel.run(BlockIQ1_M.self)
        case .IQ2_XXS: kernel.run(BlockIQ2_XXS.self)
        case .IQ2_XS: kernel.run(BlockIQ2_XS.self)
        case .IQ2_S: kernel.run(BlockIQ2_S.self)
        case .IQ3_XXS: kernel.run(BlockIQ3_XXS.self)
        case .IQ3_S: kernel.run(BlockIQ3_S.self)
        case .IQ4_NL: kernel.run(BlockIQ4_NL.self)
        case .IQ4_XS: kernel.run(BlockIQ4_XS.self)
        }
    }
}
