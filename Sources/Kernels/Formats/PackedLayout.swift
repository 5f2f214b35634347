/// The packed layout of weights for the integer kernels: rows in groups of 16, interleaved four columns at a time.
///
/// A register then holds 16 rows × 4 columns of weights, a token's four activations are broadcast to all rows, and no
/// sum crosses lanes. A packed block combines 16 blocks of the file, one per row:
///
///     scales of 16 rows | columns 0..<32 of 16 rows | columns 32..<64 | …
///
/// Bits of codes are in planes of 64-byte registers; byte `4 · row + j` of a register belongs to column `4 · step + j`:
///
///     nibbles   4 registers   register s: low four bits of step s, of step s + 4 in the high nibble
///     two bits  2 registers   register v, bits 2f and 2f + 1: two bits of step 4v + f
///     bits      1 register    bit s: one bit of step s
///     bytes     8 registers   register s: step s
///
/// Scales are those of the file, each field of 16 rows side by side; see `PackedScales`.
///
/// A packed block is as large as 16 blocks of the file, unless the file's codes are grid indices, or five base-3 digits
/// per byte: these become codes of 2 to 4 bits per weight, which kernels read without a table in memory. Bits per
/// weight, in the file and packed: IQ1_S 1.56, 2.19; IQ1_M 1.75, 3.31; IQ2_XXS 2.06, IQ2_XS 2.31, IQ2_S 2.56, 3.31;
/// IQ3_XXS 3.06, IQ3_S 3.44, 4.19; TQ1_0 1.69, 2.06.
public struct PackedLayout: Sendable {
    /// Rows in a group.
    public static let rows = 16
    /// Columns of the smallest unit, which share a scale of the activations.
    public static let columns = 32

    /// The packed layouts. Every integer kernel has a case for each.
    public enum Format: Sendable {
        case Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS
        /// Nibbles that index the levels of E2M1, `doubledE2M1`.
        case MXFP4, NVFP4
        /// Codes of two bits 0...2 for -1, 0 and 1: TQ1_0 and TQ2_0.
        case ternary
        /// Codes of two bits 0...2 for -1, 0 and 1; with the shift in the scale (S), or a bit that makes it positive (M).
        case IQ1_S, IQ1_M
        /// Two bits, 0...2, for the magnitudes 8, 25 and 43, and a bit for the sign: IQ2_XXS, IQ2_XS and IQ2_S.
        case IQ2
        /// A nibble: eight magnitudes, and the sign in its high bit.
        case IQ3_XXS
        /// A nibble q for 2 · q - 15.
        case IQ3_S

        /// `nil` if the type has no packed layout.
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
            case .MXFP4: self = .MXFP4
            case .NVFP4: self = .NVFP4
            case .TQ1_0, .TQ2_0: self = .ternary
            case .IQ1_S: self = .IQ1_S
            case .IQ1_M: self = .IQ1_M
            case .IQ2_XXS, .IQ2_XS, .IQ2_S: self = .IQ2
            case .IQ3_XXS: self = .IQ3_XXS
            case .IQ3_S: self = .IQ3_S
            default: return nil
            }
        }
    }

    public let type: TensorType
    public let format: Format
    /// Bytes of the scales, which come before the planes.
    public let scaleBytes: Int
    /// Bytes of the planes of 32 columns.
    public let planeBytes: Int
    /// As the format's.
    public let segments: Int

    /// The leading part of split Q8_0 weights: the scales, and the six upper bits of each code (its value plus 128) as nibbles
    /// and two-bit planes. The two lowest bits, the trailing part, are two-bit planes elsewhere in memory, `trailingBytes` for each block.
    ///
    /// Where only the largest results matter, as of logits, the leading part tells which rows they may be in, and takes three
    /// quarters of the bytes.
    public static let leadingQ8_0 = PackedLayout(
        type: .Q8_0, format: .Q8_0, scaleBytes: 32, planeBytes: 256 + 128, segments: 1)
    /// Bytes of the trailing part for 32 columns of 16 rows.
    public static let trailingBytes = 128

    /// Bytes from the weights that are multiplied to those that are prefetched to the L1 cache, where weights are prefetched twice.
    public static let bytesAheadInL1 = 2304

    private init(type: TensorType, format: Format, scaleBytes: Int, planeBytes: Int, segments: Int) {
        (self.type, self.format) = (type, format)
        (self.scaleBytes, self.planeBytes, self.segments) = (scaleBytes, planeBytes, segments)
    }

    /// `nil` for a format that has no packed layout.
    public init?(_ type: TensorType) {
        guard let format = Format(type) else { return nil }
        self.type = type
        self.format = format
        scaleBytes =
            switch format {
            case .Q4_0, .IQ4_NL, .Q5_0, .Q8_0, .ternary: 32
            case .Q4_1, .Q5_1, .NVFP4: 64
            case .Q2_K: 64 + 256
            case .Q3_K: 32 + 192
            case .Q4_K, .Q5_K: 64 + 192
            case .Q6_K: 32 + 256
            case .IQ4_XS: 32 + 96
            case .MXFP4: 16
            case .IQ1_S, .IQ3_XXS, .IQ3_S: 32 + 64
            case .IQ1_M, .IQ2: 32 + 128
            }
        (planeBytes, segments) = (format.planeBytes, format.segments)
    }

    /// Parts of 32 columns per block.
    public var parts: Int { type.blockValues / Self.columns }

    /// Bytes of a packed block: 16 blocks, one per row.
    public var blockBytes: Int { scaleBytes + parts * planeBytes }

    /// Bytes of `rows` rows, a multiple of 16, of `columns` weights, a multiple of the block.
    public func bytes(rows: Int, columns: Int) -> Int {
        rows / Self.rows * (columns / type.blockValues) * blockBytes
    }
}

extension PackedLayout.Format {
    /// Bytes of the planes of 32 columns.
    @inlinable
    public var planeBytes: Int {
        let nibbles = 256, twoBits = 128, bits = 64, bytes = 512
        return switch self {
        case .Q4_0, .Q4_1, .Q4_K, .IQ4_NL, .IQ4_XS, .MXFP4, .NVFP4, .IQ3_XXS, .IQ3_S: nibbles
        case .Q5_0, .Q5_1, .Q5_K: nibbles + bits
        case .Q6_K: nibbles + twoBits
        case .Q8_0: bytes
        case .Q2_K, .ternary, .IQ1_S: twoBits
        case .Q3_K, .IQ1_M, .IQ2: twoBits + bits
        }
    }

    /// Separately scaled sums per 32 columns: 2 if 16 columns share a scale, or if the products of 32 6-bit codes would
    /// not fit 16 bits (IQ3_XXS).
    @inlinable
    public var segments: Int {
        switch self {
        case .Q2_K, .Q3_K, .Q6_K, .NVFP4, .IQ1_M, .IQ2, .IQ3_XXS: 2
        default: 1
        }
    }

    /// The code of weight 0, as an unsigned number; 0 in formats with offsets. The codes of IQ3_S are doubled.
    @inlinable
    public var center: Int32 {
        switch self {
        case .Q4_0: 8
        case .Q5_0: 16
        case .Q8_0, .IQ4_NL, .IQ4_XS: 128
        case .Q3_K: 4
        case .Q6_K: 32
        case .MXFP4, .NVFP4: 12
        case .ternary: 1
        case .IQ1_M: 9
        case .IQ2: 43
        case .IQ3_XXS: 31
        case .IQ3_S: 15
        case .Q4_1, .Q5_1, .Q2_K, .Q4_K, .Q5_K, .IQ1_S: 0
        }
    }
}
