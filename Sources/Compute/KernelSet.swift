package import KernelFormats
import KernelsPortable

/// The kernels of one tier. All tiers are tested against `portable`.
///
/// Arguments are in the order of the functions of `KernelsPortable` and `KernelsAVX2`, which document them. Each file
/// of Tiers/ has the sets of one kind of processor, `ofProcessor`.
package struct KernelSet: Sendable {
    package var tier: KernelTier
    /// Formats whose weights are repacked, for the integer kernels or for `multiplyPackedFloats`.
    package var packedFormats: Set<TensorType>
    var rmsNorm: @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Float, UnsafeMutablePointer<Float>, Int) -> Void
    var layerNorm:
        @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Float, UnsafeMutablePointer<Float>, Int) -> Void
    /// Activations of gated and of plain MLPs.
    var gate:
        @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Activation, UnsafeMutablePointer<Float>, Int) -> Void
    var activate: @Sendable (UnsafePointer<Float>, Activation, UnsafeMutablePointer<Float>, Int) -> Void
    var attendPage: @Sendable (PageAttention) -> Void
    /// As `attendPage`, bitwise, for value widths that are multiples of 16; `nil`: the tier has none. For a page of halves
    /// that few rows attend to, and for 32 rows side by side (also for other multiples of 8, but not bitwise).
    var attendHalves: (@Sendable (PageAttention, UnsafeRawPointer, _ next: UnsafeRawPointer) -> Void)?
    var attendBlock: (@Sendable (BlockAttention) -> Void)?
    /// Attention of prompts in 16-bit integers; `nil`: in floats, as that of answers.
    var wordAttention: WordAttentionKernels?
    /// Convert a KV cache page to floats, from halves or from codes; the last argument is the next page, to prefetch.
    var widenHalves: @Sendable (UnsafeRawPointer, Int, Int, UnsafeMutablePointer<Float>, UnsafeRawPointer) -> Void
    var widenQuantized:
        @Sendable (UnsafeRawPointer, QuantizedPage, UnsafeMutablePointer<Float>, UnsafeRawPointer) -> Void
    var recurrent: RecurrentKernels
    var rows: RowKernels
    /// Softmax of a row, in place.
    var softmax: @Sendable (UnsafeMutablePointer<Float>, Int) -> Void
    package var dequantize: @Sendable (TensorType, UnsafeRawPointer, UnsafeMutablePointer<Float>, Int) -> Void
    /// Quantizes a row to a block format; the importance may be `nil`.
    package var quantize:
        @Sendable (
            TensorType, UnsafePointer<Float>, _ importance: UnsafePointer<Float>?, UnsafeMutableRawPointer, Int
        ) -> Void

    var multiplyFloats: @Sendable (FloatProduct) -> Void
    /// Products of one token with 16-bit floats, bitwise equal to `multiplyFloats`; `nil`: weights are converted.
    var multiplyHalves: (@Sendable (HalfProduct) -> Void)?
    /// Products with bfloat16 weights as they are in the file, for any number of tokens; `nil`: the two above.
    var multiplyBFloats: (@Sendable (BFloatProduct) -> Void)?

    /// Integer products; `nil`: the tier has none.
    var products: ProductKernels?
    /// The same with activations in another layout, which come first.
    var wideProducts: WideKernels?
    /// Products with `PackedFloats`; `nil`: F32, F16 and BF16 stay as in the file.
    var multiplyPackedFloats: (@Sendable (PackedFloatProduct) -> Void)?
    /// Products of prompts with those in F16 and BF16; `nil`: the one above.
    var words: WordKernels?

    /// Loops that measure the processor's peak speed.
    package var peaks: PeakLoops

    /// The tiers that this processor supports, fastest last.
    package static let available = [portable] + ofProcessor

    package static let best = available[available.count - 1]

    package static let portable = KernelSet(
        tier: .portable, packedFormats: [],
        rmsNorm: KernelsPortable.rmsNorm, layerNorm: KernelsPortable.layerNorm, gate: KernelsPortable.gate,
        activate: KernelsPortable.activate, attendPage: KernelsPortable.attendPage,
        widenHalves: { page, keyWidth, valueWidth, destination, _ in
            KernelsPortable.widenHalves(page, keyWidth: keyWidth, valueWidth: valueWidth, into: destination)
        },
        widenQuantized: { page, layout, destination, _ in
            KernelsPortable.widenQuantized(page, layout, into: destination)
        },
        recurrent: .portable, rows: .portable, softmax: KernelsPortable.softmax,
        dequantize: KernelsPortable.dequantize, quantize: KernelsPortable.quantize,
        multiplyFloats: KernelsPortable.multiplyFloats, peaks: .portable)
}

/// Integer matrix products; the tiers' functions document the arguments.
struct ProductKernels: Sendable {
    /// Whether a format needs activations of all tokens in 14 bits, two columns each.
    var needsPairs: @Sendable (PackedLayout.Format) -> Bool
    /// Tokens in 14 bits per tile for `multiplyTile`, and for `multiplyTokens`.
    var pairsOfTile = IntegerTile.columns / 2
    var pairsOfRow = 1
    /// The most tokens that are multiplied by `multiplyTokens`, if all have 14 bits.
    var fewTokens = 1
    /// Bytes per 32 columns of a panel for tokens in 14 bits.
    var pairPanelBytes: @Sendable (_ segments: Int) -> Int = IntegerPanel.blockBytes
    var roundToken:
        @Sendable (
            UnsafePointer<Float>, _ count: Int, _ pair: Bool, UnsafeMutableRawPointer, _ columns: Int, _ column: Int
        ) -> Void
    var unpackPanel:
        @Sendable (
            PackedLayout, UnsafeRawPointer, _ trailing: UnsafeRawPointer?, Int, UnsafeMutableRawPointer, _ pairs: Bool
        ) -> Void
    var multiplyTile: @Sendable (TileProduct) -> Void
    /// Products of up to `pairsOfRow` tokens.
    var multiplyTokens: @Sendable (PackedProduct) -> Void
    /// Whether these two multiply split weights, and `multiplyTokens` computes bounds.
    var boundsSplitWeights = false
}

/// Integer products with activations in `WideTile`s, of the AVX-512 tier; the tier's functions document the arguments.
struct WideKernels: Sendable {
    /// Quantizes a token to slices and returns its scale, by which results must be multiplied.
    var roundToken:
        @Sendable (
            UnsafePointer<Float>, _ count: Int, _ pair: Bool, UnsafeMutableRawPointer, _ sliceStride: Int,
            _ columns: Int, _ column: Int
        ) -> Float
    var unpackPanel:
        @Sendable (PackedLayout, UnsafeRawPointer, _ trailing: UnsafeRawPointer?, Int, UnsafeMutableRawPointer) -> Void
    var multiplyTiles: @Sendable (WideProduct) -> Void
    /// Products of up to `WideTile.streamedTokens` tokens.
    var multiplyTokens: @Sendable (PackedProduct) -> Void
    var scaleResults:
        @Sendable (
            UnsafePointer<Float>, _ stride: Int, _ groups: Int, _ scale: Float, UnsafeMutablePointer<Float>
        ) -> Void
}

/// Products of 16-bit integers, in `WordTile`s and `WordPanel`s, of the AVX-512 tier; its functions document the arguments.
struct WordKernels: Sendable {
    var roundWords:
        @Sendable (UnsafePointer<Float>, _ count: Int, UnsafeMutableRawPointer, _ sliceStride: Int, _ token: Int) ->
            Float
    var unpackWords: @Sendable (TensorType, UnsafeRawPointer, _ columns: Int, UnsafeMutableRawPointer) -> Void
    var multiplyWords: @Sendable (WordProduct) -> Void
    var scaleResults:
        @Sendable (
            UnsafePointer<Float>, _ stride: Int, _ groups: Int, _ scale: Float, UnsafeMutablePointer<Float>
        ) -> Void
}

/// Attention in 16-bit integers, of the AVX-512 tier; its functions document the arguments.
package struct WordAttentionKernels: Sendable {
    var roundQueries: @Sendable (UnsafeMutablePointer<Float>, _ width: Int, UnsafeMutablePointer<Float>) -> Void
    var roundPage: @Sendable (UnsafePointer<Float>, WordPage) -> Void
    var roundHalves: @Sendable (UnsafeRawPointer, WordPage, _ next: UnsafeRawPointer) -> Void
    var attend: @Sendable (WordAttention) -> Void
}

extension KernelSet: CustomStringConvertible {
    package var description: String {
        switch tier {
        case .portable: "portable"
        case .avx2: "AVX2"
        case .avx512: "AVX-512 with VNNI"
        case .neon: "NEON with dot product"
        case .neonMatrix: "NEON with int8 and bf16 matrix multiply"
        }
    }
}

/// Loops of multiplications and additions; the tiers' functions document them.
package struct PeakLoops: Sendable {
    /// Operations per round of each loop.
    package let operations: (floats: Int, words: Int, bytes: Int)
    package let floats: @Sendable (_ rounds: Int) -> Void
    package let words: @Sendable (_ rounds: Int) -> Void
    package let bytes: @Sendable (_ rounds: Int) -> Void
    /// Reads memory with loads as wide as the kernels'.
    package var read: @Sendable (_ memory: UnsafeRawPointer, _ bytes: Int) -> UInt64 = KernelsPortable.readAll

    static let portable = PeakLoops(
        operations: (
            KernelsPortable.floatOperationsOfRound, KernelsPortable.wordOperationsOfRound,
            KernelsPortable.byteOperationsOfRound
        ),
        floats: { _ = KernelsPortable.multiplyAddFloats(rounds: $0, 0.5) },
        words: { _ = KernelsPortable.multiplyAddWords(rounds: $0, 3) },
        bytes: { _ = KernelsPortable.multiplyAddBytes(rounds: $0, 3) })
}

#if !arch(x86_64) && !arch(arm64)
    extension KernelSet {
        static let ofProcessor: [KernelSet] = []
    }
#endif
