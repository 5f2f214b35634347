package import KernelFormats
import KernelsPortable

/// The kernels of one tier. All tiers are tested against `portable`.
///
/// Arguments are in the order of the functions of `KernelsPortable` and `KernelsAVX2`, which document them. The module `Tiers`
/// has the sets of all kinds of processors.
package struct KernelSet: Sendable {
    package var tier: KernelTier
    /// Formats whose weights are repacked, for the integer kernels or for `multiplyPackedFloats`.
    package var packedFormats: Set<TensorType>
    package var rmsNorm:
        @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Float, UnsafeMutablePointer<Float>, Int) -> Void
    package var layerNorm:
        @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Float, UnsafeMutablePointer<Float>, Int) -> Void
    /// Activations of gated and of plain MLPs.
    package var gate:
        @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Activation, UnsafeMutablePointer<Float>, Int) -> Void
    package var activate: @Sendable (UnsafePointer<Float>, Activation, UnsafeMutablePointer<Float>, Int) -> Void
    package var attendPage: @Sendable (PageAttention) -> Void
    /// As `attendPage`, bitwise, for value widths that are multiples of 16; `nil`: the tier has none. For a page of halves
    /// that few rows attend to, and for 32 rows side by side (also for other multiples of 8, but not bitwise).
    package var attendHalves: (@Sendable (PageAttention, UnsafeRawPointer, _ next: UnsafeRawPointer) -> Void)?
    package var attendBlock: (@Sendable (BlockAttention) -> Void)?
    /// Attention of prompts in 16-bit integers; `nil`: in floats, as that of answers.
    package var wordAttention: WordAttentionKernels?
    /// Convert a KV cache page to floats, from halves or from codes; the last argument is the next page, to prefetch.
    package var widenHalves:
        @Sendable (UnsafeRawPointer, Int, Int, UnsafeMutablePointer<Float>, UnsafeRawPointer) -> Void
    package var widenQuantized:
        @Sendable (UnsafeRawPointer, QuantizedPage, UnsafeMutablePointer<Float>, UnsafeRawPointer) -> Void
    package var recurrent: RecurrentKernels
    package var rows: RowKernels
    /// Softmax of a row, in place.
    package var softmax: @Sendable (UnsafeMutablePointer<Float>, Int) -> Void
    package var dequantize: @Sendable (TensorType, UnsafeRawPointer, UnsafeMutablePointer<Float>, Int) -> Void
    /// Quantizes a row to a block format; the importance may be `nil`.
    package var quantize:
        @Sendable (
            TensorType, UnsafePointer<Float>, _ importance: UnsafePointer<Float>?, UnsafeMutableRawPointer, Int
        ) -> Void

    package var multiplyFloats: @Sendable (FloatProduct) -> Void
    /// Products of one token with 16-bit floats, bitwise equal to `multiplyFloats`; `nil`: weights are converted.
    package var multiplyHalves: (@Sendable (HalfProduct) -> Void)?
    /// Products with bfloat16 weights as they are in the file, for any number of tokens; `nil`: the two above.
    package var multiplyBFloats: (@Sendable (BFloatProduct) -> Void)?

    /// Integer products; `nil`: the tier has none.
    package var products: ProductKernels?
    /// The same with activations in another layout, which come first.
    package var wideProducts: WideKernels?
    /// Products with `PackedFloats`; `nil`: F32, F16 and BF16 stay as in the file.
    package var multiplyPackedFloats: (@Sendable (PackedFloatProduct) -> Void)?
    /// Products of prompts with those in F16 and BF16; `nil`: the one above.
    package var words: WordKernels?

    /// Loops that measure the processor's peak speed.
    package var peaks: PeakLoops

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

extension KernelSet: CustomStringConvertible {
    package var description: String {
        switch tier {
        case .portable: "portable"
        case .avx2: "AVX2"
        case .avxVNNI: "AVX2 with VNNI"
        case .avx512: "AVX-512 with VNNI"
        case .neon: "NEON with dot product"
        case .neonMatrix: "NEON with int8 and bf16 matrix multiply"
        }
    }
}
