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
    public var blockValues: Int { size.values }

    /// Bytes per block.
    public var blockBytes: Int { size.bytes }

    private var size: (values: Int, bytes: Int) {
        func size<B: Block>(_: B.Type) -> (values: Int, bytes: Int) { (B.values, B.bytes) }
        return switch self {
        case .I8: (1, 1)
        case .F16, .BF16, .I16: (1, 2)
        case .F32, .I32: (1, 4)
        case .F64, .I64: (1, 8)
        case .Q1_0: size(BlockQ1_0.self)
        case .Q2_0: size(BlockQ2_0.self)
        case .Q4_0: size(BlockQ4_0.self)
        case .Q4_1: size(BlockQ4_1.self)
        case .Q5_0: size(BlockQ5_0.self)
        case .Q5_1: size(BlockQ5_1.self)
        case .Q8_0: size(BlockQ8_0.self)
        case .Q8_1: size(BlockQ8_1.self)
        case .Q2_K: size(BlockQ2_K.self)
        case .Q3_K: size(BlockQ3_K.self)
        case .Q4_K: size(BlockQ4_K.self)
        case .Q5_K: size(BlockQ5_K.self)
        case .Q6_K: size(BlockQ6_K.self)
        case .Q8_K: size(BlockQ8_K.self)
        case .IQ1_S: size(BlockIQ1_S.self)
        case .IQ1_M: size(BlockIQ1_M.self)
        case .IQ2_XXS: size(BlockIQ2_XXS.self)
        case .IQ2_XS: size(BlockIQ2_XS.self)
        case .IQ2_S: size(BlockIQ2_S.self)
        case .IQ3_XXS: size(BlockIQ3_XXS.self)
        case .IQ3_S: size(BlockIQ3_S.self)
        case .IQ4_NL: size(BlockIQ4_NL.self)
        case .IQ4_XS: size(BlockIQ4_XS.self)
        case .TQ1_0: size(BlockTQ1_0.self)
        case .TQ2_0: size(BlockTQ2_0.self)
        case .MXFP4: size(BlockMXFP4.self)
        case .NVFP4: size(BlockNVFP4.self)
        }
    }

    /// Bytes of `count` values; `nil` if that is not a multiple of the block, or overflows.
    public func bytes(forValues count: Int) -> Int? {
        guard count >= 0, count % blockValues == 0 else { return nil }
        let (bytes, overflow) = (count / blockValues).multipliedReportingOverflow(by: blockBytes)
        return overflow ? nil : bytes
    }
}

/// A view of the bytes of one block of a format. Each type of block documents their layout.
public protocol Block {
    /// Number of weights.
    static var values: Int { get }
    static var bytes: Int { get }
    /// Where the block begins, without alignment.
    var base: UnsafeRawPointer { get }
    init(_ base: UnsafeRawPointer)
}
