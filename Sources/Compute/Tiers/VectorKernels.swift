// The kernels of AVX2 and of NEON, which have the same functions. Global functions, in which these names are not hidden
// by the members of `KernelSet`.

#if arch(x86_64)
    import KernelsAVX2
#elseif arch(arm64)
    import KernelsNEON
#endif
import KernelFormats

#if arch(x86_64) || arch(arm64)
    /// Falls back to the portable kernels for unsupported widths and formats.
    func vectorKernels(_ tier: KernelTier) -> KernelSet {
        KernelSet(
            tier: tier, packedFormats: Set(TensorType.allCases.filter { PackedLayout($0) != nil }),
            rmsNorm: rmsNorm, layerNorm: layerNorm,
            gate: {
                switch $2 {
                case .silu where $4 % 8 == 0: swiGLU($0, $1, into: $3, count: $4)
                case .gelu where $4 % 8 == 0: geGLU($0, $1, into: $3, count: $4)
                default: KernelSet.portable.gate($0, $1, $2, $3, $4)
                }
            },
            activate: {
                switch $1 {
                case .gelu where $3 % 8 == 0: gelu($0, into: $2, count: $3)
                default: KernelSet.portable.activate($0, $1, $2, $3)
                }
            },
            attendPage: { $0.valueWidth % 8 == 0 ? attendPage($0) : KernelSet.portable.attendPage($0) },
            widenHalves: widenHalves,
            widenQuantized: {
                if $1.valueWidth % 8 == 0 {
                    widenQuantized($0, $1, into: $2, next: $3)
                } else {
                    KernelSet.portable.widenQuantized($0, $1, $2, $3)
                }
            },
            recurrent: vectorRecurrentKernels(),
            // The compiler makes vectors of these loops.
            rows: .portable,
            softmax: softmax,
            dequantize: {
                if $3 % 32 == 0, dequantize($0, $1, into: $2, count: $3) { return }
                KernelSet.portable.dequantize($0, $1, $2, $3)
            },
            quantize: KernelSet.portable.quantize,
            multiplyFloats: multiplyFloats, multiplyHalves: multiplyHalves,
            products: vectorProducts(),
            peaks: PeakLoops(
                operations: (
                    floatOperationsOfRound, wordOperationsOfRound,
                    byteOperationsOfRound
                ),
                floats: { _ = multiplyAddFloats(rounds: $0, 0.5) },
                words: { _ = multiplyAddWords(rounds: $0, 3) },
                bytes: { _ = multiplyAddBytes(rounds: $0, 3) }))
    }

    private func vectorRecurrentKernels() -> RecurrentKernels {
        RecurrentKernels(
            sigmoid: {
                $2 % 8 == 0 ? sigmoid($0, into: $1, count: $2) : RecurrentKernels.portable.sigmoid($0, $1, $2)
            },
            softplus: {
                $2 % 8 == 0 ? softplus($0, into: $1, count: $2) : RecurrentKernels.portable.softplus($0, $1, $2)
            },
            exponential: {
                $2 % 8 == 0 ? exponential($0, into: $1, count: $2) : RecurrentKernels.portable.exponential($0, $1, $2)
            },
            smallProduct: { $0.columns % 8 == 0 ? smallProduct($0) : RecurrentKernels.portable.smallProduct($0) },
            decayRows: { $0.width % 8 == 0 ? decayRows($0) : RecurrentKernels.portable.decayRows($0) },
            convolve: { $0.channels % 8 == 0 ? convolve($0) : RecurrentKernels.portable.convolve($0) },
            selectiveScan: {
                $0.channels % 8 == 0 ? selectiveScan($0) : RecurrentKernels.portable.selectiveScan($0)
            })
    }
#endif
