#if arch(arm64)
    import CIntrinsics
    import Compute
    import KernelFormats
    import KernelsNEON
    import KernelsNEONMatrix

    extension KernelSet {
        static let ofProcessor: [KernelSet] =
            cpu_has_matrix_multiply() != 0 ? [neon, neonMatrix] : cpu_has_dotprod() != 0 ? [neon] : []

        static let neon = vectorKernels(.neon)

        /// Products of several tokens as int8 matrices, with the results of NEON's, and of bfloat16 weights. NEON computes
        /// everything else.
        static let neonMatrix: KernelSet = {
            var set = neon
            set.tier = .neonMatrix
            set.products?.unpackPanel = { layout, blocks, _, count, panel, _ in
                KernelsNEONMatrix.unpackPanel(layout, blocks, count: count, into: panel)
            }
            set.products?.multiplyTile = KernelsNEONMatrix.multiplyTile
            set.multiplyBFloats = KernelsNEONMatrix.multiplyBFloats
            return set
        }()
    }

    func vectorProducts() -> ProductKernels {
        ProductKernels(
            needsPairs: KernelsNEON.needsPairs,
            roundToken: {
                KernelsNEON.roundToken($0, count: $1, pair: $2, into: $3, columns: $4, column: $5)
                return 1
            },
            unpackPanel: { layout, blocks, _, count, panel, _ in
                KernelsNEON.unpackPanel(layout, blocks, count: count, into: panel)
            },
            multiplyTile: KernelsNEON.multiplyTile,
            multiplyTokens: {
                for group in 0..<$0.groups {
                    multiplyToken(
                        $0.layout, $0.tile, $0.weights + group * $0.blocks * $0.layout.blockBytes, count: $0.blocks,
                        into: $0.c + group * PackedLayout.rows)
                }
            })
    }
#endif
