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

    public let type: TensorType
    /// Before the planes.
    public let scaleBytes: Int
    /// The planes of 32 columns.
    public let planeBytes: Int

    /// `nil` for a format that has no packed layout.
    public init?(_ type: TensorType) {
        self.type = type
        let nibbles = 256, crumbs = 128, bits = 64, bytes = 512
        (scaleBytes, planeBytes) =
            switch type {
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
            default: (0, 0)
            }
        if planeBytes == 0 { return nil }
    }

    /// Scales of 32 columns: 2 where 16 share one.
    public var segments: Int {
        switch type {
        case .Q2_K, .Q3_K, .Q6_K: 2
        default: 1
        }
    }

    /// Parts of 32 columns in a block.
    public var parts: Int { type.blockValues / Self.columns }

    /// Bytes of 16 blocks, one a row.
    public var blockBytes: Int { scaleBytes + parts * planeBytes }
}
