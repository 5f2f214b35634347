/// The storage format of a tensor's values.
///
/// Raw values are those of `ggml_type` in ggml.h, as in GGUF files. Numbers that ggml has removed (4, 5, 31-33, 36-38)
/// have no case.
public enum TensorType: UInt32, CaseIterable, Sendable {
    case F32 = 0
    case F16 = 1
    case Q4_0 = 2
    case Q4_1 = 3
    case Q5_0 = 6
    case Q5_1 = 7
    case Q8_0 = 8
    case Q8_1 = 9
    case Q2_K = 10
    case Q3_K = 11
    case Q4_K = 12
    case Q5_K = 13
    case Q6_K = 14
    case Q8_K = 15
    case IQ2_XXS = 16
    case IQ2_XS = 17
    case IQ3_XXS = 18
    case IQ1_S = 19
    case IQ4_NL = 20
    case IQ3_S = 21
    case IQ2_S = 22
    case IQ4_XS = 23
    case I8 = 24
    case I16 = 25
    case I32 = 26
    case I64 = 27
    case F64 = 28
    case IQ1_M = 29
    case BF16 = 30
    case TQ1_0 = 34
    case TQ2_0 = 35
    case MXFP4 = 39
    case NVFP4 = 40
    case Q1_0 = 41
    case Q2_0 = 42

    /// The name in ggml's spelling: `Q4_K`.
    public var name: String { "\(self)" }

    /// Whether the format has fewer than 16 bits per value.
    public var isQuantized: Bool { blockValues > 1 }

    /// Values per block. A row is a multiple of the block.
    public var blockValues: Int {
        switch self {
        case .F32, .F16, .BF16, .F64, .I8, .I16, .I32, .I64: 1
        case .Q4_0, .Q4_1, .Q5_0, .Q5_1, .Q8_0, .Q8_1, .IQ4_NL, .MXFP4: 32
        case .NVFP4, .Q2_0: 64
        case .Q1_0: 128
        case .Q2_K, .Q3_K, .Q4_K, .Q5_K, .Q6_K, .Q8_K, .TQ1_0, .TQ2_0: 256
        case .IQ1_S, .IQ1_M, .IQ2_XXS, .IQ2_XS, .IQ2_S, .IQ3_XXS, .IQ3_S, .IQ4_XS: 256
        }
    }

    /// Bytes per block.
    public var blockBytes: Int {
        switch self {
        case .I8: 1
        case .F16, .BF16, .I16: 2
        case .F32, .I32: 4
        case .F64, .I64: 8
        case .Q1_0: BlockQ1_0.bytes
        case .Q2_0: BlockQ2_0.bytes
        case .Q4_0: BlockQ4_0.bytes
        case .Q4_1: BlockQ4_1.bytes
        case .Q5_0: BlockQ5_0.bytes
        case .Q5_1: BlockQ5_1.bytes
        case .Q8_0: BlockQ8_0.bytes
        case .Q8_1: BlockQ8_1.bytes
        case .Q2_K: BlockQ2_K.bytes
        case .Q3_K: BlockQ3_K.bytes
        case .Q4_K: BlockQ4_K.bytes
        case .Q5_K: BlockQ5_K.bytes
        case .Q6_K: BlockQ6_K.bytes
        case .Q8_K: BlockQ8_K.bytes
        case .IQ1_S: BlockIQ1_S.bytes
        case .IQ1_M: BlockIQ1_M.bytes
        case .IQ2_XXS: BlockIQ2_XXS.bytes
        case .IQ2_XS: BlockIQ2_XS.bytes
        case .IQ2_S: BlockIQ2_S.bytes
        case .IQ3_XXS: BlockIQ3_XXS.bytes
        case .IQ3_S: BlockIQ3_S.bytes
        case .IQ4_NL: BlockIQ4_NL.bytes
        case .IQ4_XS: BlockIQ4_XS.bytes
        case .TQ1_0: BlockTQ1_0.bytes
        case .TQ2_0: BlockTQ2_0.bytes
        case .MXFP4: BlockMXFP4.bytes
        case .NVFP4: BlockNVFP4.bytes
        }
    }

    /// Bytes of `count` values; `nil` if that is not a multiple of the block, or overflows.
    public func bytes(forValues count: Int) -> Int? {
        guard count >= 0, count % blockValues == 0 else { return nil }
        let (bytes, overflow) = (count / blockValues).multipliedReportingOverflow(by: blockBytes)
        return overflow ? nil : bytes
    }
}
