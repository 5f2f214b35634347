#if arch(x86_64)
    import CIntrinsics
    import KernelFormats
    import KernelsAVX2
    import KernelsAVX512

    extension KernelSet {
        static let ofProcessor: [KernelSet] =
            KernelsAVX512.isSupported() ? [avx2, avx512] : cpu_has_avx2_fma_f16c() != 0 ? [avx2] : []

        static let avx2: KernelSet = {
            var set = vectorKernels(.avx2)
            set.rows.addLowRank = { KernelsAVX2.addLowRank($0) }
            set.peaks.read = { KernelsAVX2.readAll($0, bytes: $1) }
            set.quantize = {
                guard $0.isQuantized else { return KernelSet.portable.quantize($0, $1, $2, $3, $4) }
                KernelsAVX2.quantize($0, $1, importance: $2, into: $3, count: $4)
            }
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
            set.attendHalves = { KernelsAVX512.attendHalves($0, $1, next: $2) }
            set.attendBlock = { KernelsAVX512.attendBlock($0) }
            set.wordAttention = WordAttentionKernels(
                roundQueries: { KernelsAVX512.roundQueries($0, width: $1, scales: $2) },
                roundPage: { KernelsAVX512.roundPage($0, into: $1) },
                roundHalves: { KernelsAVX512.roundHalves($0, into: $1, next: $2) },
                attend: { KernelsAVX512.attendWords($0) })
            set.widenHalves = { KernelsAVX512.widenHalves($0, keyWidth: $1, valueWidth: $2, into: $3, next: $4) }
            set.multiplyFloats = { KernelsAVX512.multiplyFloats($0) }
            set.packedFormats.formUnion(PackedFloats.types)
            set.multiplyPackedFloats = { KernelsAVX512.multiplyPackedFloats($0) }
            set.products = nil
            set.wideProducts = WideKernels(
                roundToken: {
                    KernelsAVX512.roundToken(
                        $0, count: $1, pair: $2, into: $3, sliceStride: $4, columns: $5, column: $6)
                },
                unpackPanel: { KernelsAVX512.unpackPanel($0, $1, trailing: $2, count: $3, into: $4) },
                multiplyTiles: { KernelsAVX512.multiplyTiles($0) },
                multiplyTokens: { KernelsAVX512.multiplyTokens($0) },
                scaleResults: { KernelsAVX512.scaleResults($0, stride: $1, groups: $2, by: $3, into: $4) })
            set.words = WordKernels(
                roundWords: { KernelsAVX512.roundWords($0, count: $1, into: $2, sliceStride: $3, token: $4) },
                unpackWords: { KernelsAVX512.unpackWords($0, $1, columns: $2, into: $3) },
                multiplyWords: { KernelsAVX512.multiplyWords($0) },
                scaleResults: { KernelsAVX512.scaleResults($0, stride: $1, groups: $2, by: $3, into: $4) })
            set.peaks = PeakLoops(
                operations: (
                    KernelsAVX512.floatOperationsOfRound, KernelsAVX512.wordOperationsOfRound,
                    KernelsAVX512.byteOperationsOfRound
                ),
                floats: { _ = KernelsAVX512.multiplyAddFloats(rounds: $0, 0.5) },
                words: { _ = KernelsAVX512.multiplyAddWords(rounds: $0, 3) },
                bytes: { _ = KernelsAVX512.multiplyAddBytes(rounds: $0, 3) },
                read: { KernelsAVX512.readAll($0, bytes: $1) })
            return set
        }()
    }

    /// AVX2's, which multiply tokens of 14 bits as words.
    func vectorProducts() -> ProductKernels {
        ProductKernels(
            needsPairs: { needsPairs($0) }, pairsOfTile: IntegerTile.columns, pairsOfRow: rowTokens,
            fewTokens: 2 * rowTokens, pairPanelBytes: { WordPanel.blockBytes(segments: $0) },
            roundToken: { roundToken($0, count: $1, pair: $2, into: $3, columns: $4, column: $5) },
            unpackPanel: { KernelsAVX2.unpackPanel($0, $1, trailing: $2, count: $3, into: $4, words: $5) },
            multiplyTile: { KernelsAVX2.multiplyTile($0) },
            multiplyTokens: { KernelsAVX2.multiplyTokens($0) }, boundsSplitWeights: true)
    }
#endif
