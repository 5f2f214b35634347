#if arch(x86_64)
    import CIntrinsics
    import Compute
    import KernelFormats
    import KernelsAVX2
    import KernelsAVX512
    import KernelsAVXVNNI

    extension KernelSet {
        static let ofProcessor: [KernelSet] = [
            (avx2, cpu_has_avx2_fma_f16c() != 0), (avxVNNI, KernelsAVXVNNI.isSupported()),
            (avx512, KernelsAVX512.isSupported()),
        ].compactMap { set, isSupported in isSupported ? set : nil }

        static let avx2: KernelSet = {
            var set = vectorKernels(.avx2)
            set.rows.addLowRank = KernelsAVX2.addLowRank
            set.rows.storeHalf = {
                guard $3 % 8 == 0 else { return KernelSet.portable.rows.storeHalf($0, $1, $2, $3) }
                KernelsAVX2.storeHalf($0, into: $1, stride: $2, count: $3)
            }
            set.wordAttention = WordAttentionKernels(
                roundQueries: KernelsAVX2.roundQueries, roundByteQueries: nil, roundPage: KernelsAVX2.roundPage,
                roundHalves: KernelsAVX2.roundHalves, attend: KernelsAVX2.attendWords)
            set.packedFormats.formUnion(PackedFloats.types)
            set.multiplyPackedFloats = KernelsAVX2.multiplyPackedFloats
            set.words = WordKernels(
                roundWords: KernelsAVX2.roundWords, unpackWords: KernelsAVX2.unpackWords,
                multiplyWords: KernelsAVX2.multiplyWords, scaleResults: KernelsAVX2.scaleResults)
            set.peaks.read = KernelsAVX2.readAll
            set.quantize = {
                guard $0.isQuantized else { return KernelSet.portable.quantize($0, $1, $2, $3, $4) }
                KernelsAVX2.quantize($0, $1, importance: $2, into: $3, count: $4)
            }
            return set
        }()

        /// Products of integers, in attention too, by VNNI; the other kernels are AVX2.
        static let avxVNNI: KernelSet = {
            var set = avx2
            set.tier = .avxVNNI
            set.products = nil
            set.wideProducts = WideKernels(
                roundToken: KernelsAVXVNNI.roundToken, unpackPanel: KernelsAVXVNNI.unpackPanel,
                multiplyTiles: KernelsAVXVNNI.multiplyTiles, multiplyTokens: KernelsAVXVNNI.multiplyTokens,
                scaleResults: KernelsAVX2.scaleResults)
            set.wordAttention = WordAttentionKernels(
                roundQueries: KernelsAVX2.roundQueries, roundByteQueries: nil, roundPage: KernelsAVX2.roundPage,
                roundHalves: KernelsAVX2.roundHalves, attend: KernelsAVXVNNI.attendWords)
            set.words = WordKernels(
                roundWords: KernelsAVX2.roundWords, unpackWords: KernelsAVX2.unpackWords,
                multiplyWords: KernelsAVXVNNI.multiplyWords, scaleResults: KernelsAVX2.scaleResults)
            set.peaks.words = { _ = KernelsAVXVNNI.multiplyAddWords(rounds: $0, 3) }
            set.peaks.bytes = { _ = KernelsAVXVNNI.multiplyAddBytes(rounds: $0, 3) }
            return set
        }()

        /// AVX-512 products and attention; the other kernels are AVX2, as wider registers would not pay.
        static let avx512: KernelSet = {
            var set = avx2
            set.tier = .avx512
            set.gate = {
                guard $2 == .silu, $4 % 16 == 0 else { return avx2.gate($0, $1, $2, $3, $4) }
                KernelsAVX512.swiGLU($0, $1, into: $3, count: $4)
            }
            set.attendPage = { $0.valueWidth % 16 == 0 ? KernelsAVX512.attendPage($0) : avx2.attendPage($0) }
            set.attendHalves = KernelsAVX512.attendHalves
            set.attendBlock = KernelsAVX512.attendBlock
            set.wordAttention = WordAttentionKernels(
                roundQueries: KernelsAVX512.roundQueries, roundByteQueries: KernelsAVX512.roundByteQueries,
                roundPage: KernelsAVX512.roundPage, roundHalves: KernelsAVX512.roundHalves,
                attend: KernelsAVX512.attendWords)
            set.widenHalves = KernelsAVX512.widenHalves
            set.multiplyFloats = KernelsAVX512.multiplyFloats
            set.multiplyPackedFloats = KernelsAVX512.multiplyPackedFloats
            set.products = nil
            set.wideProducts = WideKernels(
                roundToken: KernelsAVX512.roundToken, unpackPanel: KernelsAVX512.unpackPanel,
                multiplyTiles: KernelsAVX512.multiplyTiles, multiplyTokens: KernelsAVX512.multiplyTokens,
                scaleResults: KernelsAVX2.scaleResults)
            set.words = WordKernels(
                roundWords: KernelsAVX512.roundWords, unpackWords: KernelsAVX512.unpackWords,
                multiplyWords: KernelsAVX512.multiplyWords, scaleResults: KernelsAVX2.scaleResults)
            set.peaks = PeakLoops(
                operations: (
                    KernelsAVX512.floatOperationsOfRound, KernelsAVX512.wordOperationsOfRound,
                    KernelsAVX512.byteOperationsOfRound
                ),
                floats: { _ = KernelsAVX512.multiplyAddFloats(rounds: $0, 0.5) },
                words: { _ = KernelsAVX512.multiplyAddWords(rounds: $0, 3) },
                bytes: { _ = KernelsAVX512.multiplyAddBytes(rounds: $0, 3) })
            set.peaks.read = KernelsAVX512.readAll
            return set
        }()
    }

    /// AVX2's, which multiply tokens of 14 bits as words.
    func vectorProducts() -> ProductKernels {
        var products = ProductKernels(
            needsPairs: KernelsAVX2.needsPairs,
            roundToken: { KernelsAVX2.roundToken($0, count: $1, pair: $2, into: $3, columns: $4, column: $5) },
            unpackPanel: KernelsAVX2.unpackPanel, multiplyTile: KernelsAVX2.multiplyTile,
            multiplyTokens: KernelsAVX2.multiplyTokens)
        products.scaleResults = KernelsAVX2.scaleResults
        products.pairsOfTile = IntegerTile.columns
        products.pairsOfRow = rowTokens
        products.fewTokens = 2 * rowTokens
        products.pairPanelBytes = PairPanel.blockBytes
        products.boundsSplitWeights = true
        return products
    }
#endif
