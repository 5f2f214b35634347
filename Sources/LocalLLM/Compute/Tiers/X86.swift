#if arch(x86_64)
    import CIntrinsics
    import KernelFormats
    import KernelsAVX512

    extension KernelSet {
        static let ofProcessor: [KernelSet] =
            KernelsAVX512.isSupported() ? [avx2, avx512] : cpu_has_avx2_fma_f16c() != 0 ? [avx2] : []

        static let avx2 = vectorKernels(.avx2)

        /// AVX-512 products and attention; the other kernels are AVX2, as wider registers would not pay.
        static let avx512: KernelSet = {
            var set = avx2
            set.tier = .avx512
            set.attendPage = { $0.valueWidth % 16 == 0 ? KernelsAVX512.attendPage($0) : avx2.attendPage($0) }
            set.multiplyFloats = { KernelsAVX512.multiplyFloats($0) }
            // AVX2's kernel for halves adds in the order of AVX2, so it is not used.
            set.multiplyHalves = nil
            set.products?.needsPairs = { _ in false }
            set.products?.unpackPanel = { KernelsAVX512.unpackPanel($0, $1, count: $2, into: $3) }
            set.products?.multiplyTile = { KernelsAVX512.multiplyTile($0) }
            set.products?.multiplyToken = { KernelsAVX512.multiplyToken($0, $1, $2, count: $3, into: $4) }
            set.peaks = PeakLoops(
                operations: (
                    KernelsAVX512.floatOperationsOfRound, KernelsAVX512.wordOperationsOfRound,
                    KernelsAVX512.byteOperationsOfRound
                ),
                floats: { _ = KernelsAVX512.multiplyAddFloats(rounds: $0, 0.5) },
                words: { _ = KernelsAVX512.multiplyAddWords(rounds: $0, 3) },
                bytes: { _ = KernelsAVX512.multiplyAddBytes(rounds: $0, 3) })
            return set
        }()
    }
#endif
