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
            rmsNorm: { rmsNorm($0, weight: $1, epsilon: $2, into: $3, count: $4) },
            layerNorm: { layerNorm($0, weight: $1, epsilon: $2, into: $3, count: $4) },
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
            widenHalves: { widenHalves($0, keyWidth: $1, valueWidth: $2, into: $3, next: $4) },
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
            softmax: { softmax($0, count: $1) },
            dequantize: {
                if $3 % 32 == 0, dequantize($0, $1, into: $2, count: $3) { return }
                KernelSet.portable.dequantize($0, $1, $2, $3)
            },
            quantize: KernelSet.portable.quantize,
            multiplyFloats: { multiplyFloats($0) },
            multiplyHalves: { multiplyHalves($0) },
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
            smallProduct: {
                if $11 % 8 == 0 {
                    smallProduct(
                        $0, aRow: $1, aColumn: $2, $3, bStride: $4, decay: $5, decayStride: $6, into: $7, cStride: $8,
                        rows: $9, depth: $10, columns: $11)
                } else {
                    RecurrentKernels.portable.smallProduct($0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                }
            },
            decayRows: {
                if $2 % 8 == 0 {
                    decayRows(
                        $0, count: $1, width: $2, by: $3, before: $4, into: $5, after: $6, into: $7)
                } else {
                    RecurrentKernels.portable.decayRows($0, $1, $2, $3, $4, $5, $6, $7)
                }
            },
            convolve: {
                if $4 % 8 == 0 {
                    convolve($0, $1, bias: $2, taps: $3, channels: $4, silu: $5, into: $6)
                } else {
                    RecurrentKernels.portable.convolve($0, $1, $2, $3, $4, $5, $6)
                }
            },
            selectiveScan: {
                if $11 % 8 == 0 {
                    selectiveScan(
                        $0, delta: $1, stride: $2, b: $3, c: $4, selectStride: $5, a: $6, d: $7, state: $8,
                        stateStride: $9, tokens: $10, channels: $11, states: $12, into: $13)
                } else {
                    RecurrentKernels.portable.selectiveScan($0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
                }
            })
    }
#endif
