// The kernels of AVX2 and of NEON, which have the same functions. Global functions, in which these names are not hidden
// by the members of `KernelSet`.

#if arch(x86_64)
    import KernelsAVX2
#elseif arch(arm64)
    import KernelsNEON
#endif
import Compute
import KernelFormats

#if arch(x86_64) || arch(arm64)
    /// The portable kernels remain for widths and formats that these do not support, and where the compiler makes vectors of
    /// their loops.
    func vectorKernels(_ tier: KernelTier) -> KernelSet {
        let portable = KernelSet.portable
        var set = portable
        set.tier = tier
        set.packedFormats = Set(TensorType.allCases.filter { PackedLayout($0) != nil })
        set.rmsNorm = rmsNorm
        set.layerNorm = layerNorm
        set.gate = {
            switch $2 {
            case .silu where $4 % 8 == 0: swiGLU($0, $1, into: $3, count: $4)
            case .gelu where $4 % 8 == 0: geGLU($0, $1, into: $3, count: $4)
            default: portable.gate($0, $1, $2, $3, $4)
            }
        }
        set.activate = {
            switch $1 {
            case .gelu where $3 % 8 == 0: gelu($0, into: $2, count: $3)
            default: portable.activate($0, $1, $2, $3)
            }
        }
        set.attendPage = { $0.valueWidth % 8 == 0 ? attendPage($0) : portable.attendPage($0) }
        set.widenHalves = widenHalves
        set.widenQuantized = {
            if $1.valueWidth % 8 == 0 {
                widenQuantized($0, $1, into: $2, next: $3)
            } else {
                portable.widenQuantized($0, $1, $2, $3)
            }
        }
        set.recurrent = vectorRecurrentKernels(portable.recurrent)
        set.softmax = softmax
        set.dequantize = {
            if $3 % 32 == 0, dequantize($0, $1, into: $2, count: $3) { return }
            portable.dequantize($0, $1, $2, $3)
        }
        set.multiplyFloats = multiplyFloats
        set.multiplyHalves = multiplyHalves
        set.products = vectorProducts()
        set.peaks = PeakLoops(
            operations: (floatOperationsOfRound, wordOperationsOfRound, byteOperationsOfRound),
            floats: { _ = multiplyAddFloats(rounds: $0, 0.5) }, words: { _ = multiplyAddWords(rounds: $0, 3) },
            bytes: { _ = multiplyAddBytes(rounds: $0, 3) })
        return set
    }

    private func vectorRecurrentKernels(_ portable: RecurrentKernels) -> RecurrentKernels {
        var set = portable
        set.sigmoid = { $2 % 8 == 0 ? sigmoid($0, into: $1, count: $2) : portable.sigmoid($0, $1, $2) }
        set.softplus = { $2 % 8 == 0 ? softplus($0, into: $1, count: $2) : portable.softplus($0, $1, $2) }
        set.exponential = { $2 % 8 == 0 ? exponential($0, into: $1, count: $2) : portable.exponential($0, $1, $2) }
        set.smallProduct = { $0.columns % 8 == 0 ? smallProduct($0) : portable.smallProduct($0) }
        set.decayRows = { $0.width % 8 == 0 ? decayRows($0) : portable.decayRows($0) }
        set.convolve = { $0.channels % 8 == 0 ? convolve($0) : portable.convolve($0) }
        set.selectiveScan = { $0.channels % 8 == 0 ? selectiveScan($0) : portable.selectiveScan($0) }
        return set
    }
#endif
