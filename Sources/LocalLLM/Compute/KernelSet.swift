import KernelFormats
import KernelsPortable

#if arch(x86_64)
    import CIntrinsics
    import KernelsAVX2
    import KernelsAVX512
#endif

/// The kernels of one tier. All tiers are tested against `portable`.
///
/// Arguments are in the order of the functions of `KernelsPortable` and `KernelsAVX2`, which document them.
struct KernelSet: Sendable {
    let tier: KernelTier
    /// Formats whose weights are repacked for the integer kernels.
    let packedFormats: Set<TensorType>
    let rmsNorm: @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Float, UnsafeMutablePointer<Float>, Int) -> Void
    let layerNorm:
        @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Float, UnsafeMutablePointer<Float>, Int) -> Void
    /// Activations of gated and of plain MLPs.
    let gate:
        @Sendable (UnsafePointer<Float>, UnsafePointer<Float>, Activation, UnsafeMutablePointer<Float>, Int) -> Void
    let activate: @Sendable (UnsafePointer<Float>, Activation, UnsafeMutablePointer<Float>, Int) -> Void
    let attendPage: @Sendable (PageAttention) -> Void
    /// Convert a KV cache page to floats, from halves or from bytes; the last argument is the next page, to prefetch.
    let widenHalves: @Sendable (UnsafeRawPointer, Int, Int, UnsafeMutablePointer<Float>, UnsafeRawPointer) -> Void
    let widenBytes: @Sendable (UnsafeRawPointer, BytePage, UnsafeMutablePointer<Float>, UnsafeRawPointer) -> Void
    let recurrent: RecurrentKernels
    /// Softmax of a row, in place.
    let softmax: @Sendable (UnsafeMutablePointer<Float>, Int) -> Void
    let dequantize: @Sendable (TensorType, UnsafeRawPointer, UnsafeMutablePointer<Float>, Int) -> Void

    let multiplyFloats: @Sendable (FloatProduct) -> Void
    /// Products of one token with 16-bit floats, bitwise equal to `multiplyFloats`; `nil`: weights are converted.
    let multiplyHalves: (@Sendable (HalfProduct) -> Void)?

    /// Integer products; `nil`: the tier has none.
    let products: ProductKernels?

    /// The tiers that this processor supports, fastest last.
    static let available: [KernelSet] = {
        #if arch(x86_64)
            if cpu_has_avx512_vnni() != 0 { return [portable, avx2, avx512] }
            if cpu_has_avx2_fma_f16c() != 0 { return [portable, avx2] }
        #endif
        return [portable]
    }()

    static let best = available[available.count - 1]

    static let portable = KernelSet(
        tier: .portable, packedFormats: [],
        rmsNorm: { KernelsPortable.rmsNorm($0, weight: $1, epsilon: $2, into: $3, count: $4) },
        layerNorm: { KernelsPortable.layerNorm($0, weight: $1, epsilon: $2, into: $3, count: $4) },
        gate: { KernelsPortable.gate($0, $1, $2, into: $3, count: $4) },
        activate: { KernelsPortable.activate($0, $1, into: $2, count: $3) },
        attendPage: { KernelsPortable.attendPage($0) },
        widenHalves: { page, keyWidth, valueWidth, destination, _ in
            KernelsPortable.widenHalves(page, keyWidth: keyWidth, valueWidth: valueWidth, into: destination)
        },
        widenBytes: { page, layout, destination, _ in KernelsPortable.widenBytes(page, layout, into: destination) },
        recurrent: .portable, softmax: { KernelsPortable.softmax($0, count: $1) },
        dequantize: { KernelsPortable.dequantize($0, $1, into: $2, count: $3) },
        multiplyFloats: { KernelsPortable.multiplyFloats($0) }, multiplyHalves: nil, products: nil)

    #if arch(x86_64)
        /// Falls back to the portable kernels for unsupported widths and formats.
        static let avx2 = KernelSet(
            tier: .avx2, packedFormats: Set(TensorType.allCases.filter { PackedLayout($0) != nil }),
            rmsNorm: { KernelsAVX2.rmsNorm($0, weight: $1, epsilon: $2, into: $3, count: $4) },
            layerNorm: { KernelsAVX2.layerNorm($0, weight: $1, epsilon: $2, into: $3, count: $4) },
            gate: {
                switch $2 {
                case .silu where $4 % 8 == 0: KernelsAVX2.swiGLU($0, $1, into: $3, count: $4)
                case .gelu where $4 % 8 == 0: KernelsAVX2.geGLU($0, $1, into: $3, count: $4)
                default: portable.gate($0, $1, $2, $3, $4)
                }
            },
            activate: {
                switch $1 {
                case .gelu where $3 % 8 == 0: KernelsAVX2.gelu($0, into: $2, count: $3)
                default: portable.activate($0, $1, $2, $3)
                }
            },
            attendPage: { $0.valueWidth % 8 == 0 ? KernelsAVX2.attendPage($0) : portable.attendPage($0) },
            widenHalves: { KernelsAVX2.widenHalves($0, keyWidth: $1, valueWidth: $2, into: $3, next: $4) },
            widenBytes: {
                if $1.valueWidth % 8 == 0 {
                    KernelsAVX2.widenBytes($0, $1, into: $2, next: $3)
                } else {
                    portable.widenBytes($0, $1, $2, $3)
                }
            },
            recurrent: .avx2,
            softmax: { KernelsAVX2.softmax($0, count: $1) },
            dequantize: {
                if $3 % 32 == 0, KernelsAVX2.dequantize($0, $1, into: $2, count: $3) { return }
                portable.dequantize($0, $1, $2, $3)
            },
            multiplyFloats: { KernelsAVX2.multiplyFloats($0) },
            multiplyHalves: { KernelsAVX2.multiplyHalves($0) },
            products: ProductKernels(
                needsPairs: { KernelsAVX2.needsPairs($0) },
                unpackPanel: { KernelsAVX2.unpackPanel($0, $1, count: $2, into: $3) },
                multiplyTile: { KernelsAVX2.multiplyTile($0) },
                multiplyToken: { KernelsAVX2.multiplyToken($0, $1, $2, count: $3, into: $4) }))

        /// AVX-512 products and attention; the other kernels are AVX2, as wider registers would not pay.
        static let avx512 = KernelSet(
            tier: .avx512, packedFormats: Set(TensorType.allCases.filter { PackedLayout($0) != nil }),
            rmsNorm: avx2.rmsNorm, layerNorm: avx2.layerNorm, gate: avx2.gate, activate: avx2.activate,
            attendPage: { $0.valueWidth % 16 == 0 ? KernelsAVX512.attendPage($0) : avx2.attendPage($0) },
            widenHalves: avx2.widenHalves, widenBytes: avx2.widenBytes, recurrent: .avx2, softmax: avx2.softmax,
            dequantize: avx2.dequantize,
            // AVX2's kernel for halves adds in the order of AVX2, so it is not used.
            multiplyFloats: { KernelsAVX512.multiplyFloats($0) }, multiplyHalves: nil,
            products: ProductKernels(
                needsPairs: { _ in false },
                unpackPanel: { KernelsAVX512.unpackPanel($0, $1, count: $2, into: $3) },
                multiplyTile: { KernelsAVX512.multiplyTile($0) },
                multiplyToken: { KernelsAVX512.multiplyToken($0, $1, $2, count: $3, into: $4) }))
    #endif
}

/// Integer matrix products; the tiers' functions document the arguments.
struct ProductKernels: Sendable {
    /// Whether a format needs activations of all tokens in 14 bits, two columns each.
    let needsPairs: @Sendable (PackedLayout.Format) -> Bool
    let unpackPanel: @Sendable (PackedLayout, UnsafeRawPointer, Int, UnsafeMutableRawPointer) -> Void
    let multiplyTile: @Sendable (TileProduct) -> Void
    let multiplyToken:
        @Sendable (PackedLayout, UnsafeRawPointer, UnsafeRawPointer, Int, UnsafeMutablePointer<Float>) -> Void
}

extension KernelSet: CustomStringConvertible {
    var description: String {
        switch tier {
        case .portable: "portable"
        case .avx2: "AVX2"
        case .avx512: "AVX-512 with VNNI"
        }
    }
}
