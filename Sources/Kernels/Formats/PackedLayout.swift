/// Weights as the integer kernels read them: the rows of a matrix in groups of 16, interleaved four columns at a time.
///
/// A register then holds 16 rows × 4 columns of weights, a token's four activations are broadcast to all of them, and no
/// sum crosses lanes. A packed block is what 16 blocks of the file, one a row, become; it is as large as they are:
///
///     scales of 16 rows | columns 0..<32 of 16 rows | columns 32..<64 | …
///
/// Bits of codes are in planes of 64-byte registers; byte `4 · row + j` of a register belongs to column `4 · step + j`:
///
///     nibbles   4 registers   register s: low four bits of step s, of step s + 4 in the high nibble
///     crumbs    2 registers   register v, bits 2f and 2f + 1: two bits of step 4v + f
///     bits      1 register    bit s: one bit of step s
///     bytes     8 registers   register s: step s
///
/// Scales are those of the file, the same field of 16 rows side by side; see `PackedScales`.
public struct PackedLayout: Sendable {
    /// Rows in a group.
    public static let rows = 16
    /// Columns of the smallest unit: what shares a scale of the activations.
    public static let columns = 32

    /// Formats of files that have a packed layout. Each has its case in every integer kernel.
    public enum Format: Sendable {
        case Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS

        /// `nil` for a type that has no packed layout.
        init?(_ type: TensorType) {
            switch type {
            case .Q4_0: self = .Q4_0
            case .Q4_1: self = .Q4_1
            case .Q5_0: self = .Q5_0
            case .Q5_1: self = .Q5_1
            case .Q8_0: self = .Q8_0
            case .Q2_K: self = .Q2_K
            case .Q3_K: self = .Q3_K
            case .Q4_K: self = .Q4_K
            case .Q5_K: self = .Q5_K
            case .Q6_K: self = .Q6_K
            case .IQ4_NL: self = .IQ4_NL
            case .IQ4_XS: self = .IQ4_XS
            case .F32, .F16, .BF16, .F64, .I8, .I16, .I32, .I64, .Q8_1, .Q8_K, .Q1_0, .Q2_0, .IQ1_S, .IQ1_M, .IQ2_XXS,
                .IQ2_XS, .IQ2_S, .IQ3_XXS, .IQ3_S, .TQ1_0, .TQ2_0, .MXFP4, .NVFP4:
                return nil
            }
        }
    }

    public let type: TensorType
    public let format: Format
    /// Before the planes.
    public let scaleBytes: Int
    /// The planes of 32 columns.
    public let planeBytes: Int

    /// `nil` for a format that has no packed layout.
    public init?(_ type: TensorType) {
        guard let format = Format(type) else { return nil }
        self.type = type
        self.format = format
        let nibbles = 256, crumbs = 128, bits = 64, bytes = 512
        (scaleBytes, planeBytes) =
            switch format {
            case .Q4_0, .IQ4_NL: (32, nibbles)
            case .Q4_1: (64, nibbles)
            case .Q5_0: (32, nibbles + bits)
            case .Q5_1: (64, nibbles + bits)
            case .Q8_0: (32, bytes)
            case .Q2_K: (64 + 256, crumbs)
            case .Q3_K: (32 + 192, crumbs + bits)
            case .Q4_K: (64 + 192, nibbles)
            case .Q5_K: (64 + 192, nibbles + bits)
            case .Q6_K: (32 + 256, nibbles + crumbs)
            case .IQ4_XS: (32 + 96, nibbles)
            }
    }

    /// Scales of 32 columns: 2 where 16 share one.
    public var segments: Int {
        switch format {
        case .Q2_K, .Q3_K, .Q6_K: 2
        case .Q4_0, .Q4_1, .Q5_0, .Q5_1, .Q8_0, .Q4_K, .Q5_K, .IQ4_NL, .IQ4_XS: 1
        }
    }

    /// Parts of 32 columns in a block.
    public var parts: Int { type.blockValues / Self.columns }

    /// Bytes of 16 blocks, one a row.
    public var blockBytes: Int { scaleBytes + parts * planeBytes }
}
