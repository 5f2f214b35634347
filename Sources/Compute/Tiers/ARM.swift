#if arch(arm64)
    import CIntrinsics
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
            set.products?.unpackPanel = { layout, blocks, count, panel, _ in
                KernelsNEONMatrix.unpackPanel(layout, blocks, count: count, into: panel)
            }
            set.products?.multiplyTile = { KernelsNEONMatrix.multiplyTile($0) }
            set.multiplyBFloats = { KernelsNEONMatrix.multiplyBFloats($0) }
            return set
        }()
    }

    func vectorProducts() -> ProductKernels {
        ProductKernels(
            needsPairs: { needsPairs($0) },
            roundToken: { KernelsNEON.roundToken($0, count: $1, pair: $2, into: $3, columns: $4, column: $5) },
            unpackPanel: { layout, blocks, count, panel, _ in
                KernelsNEON.unpackPanel(layout, blocks, count: count, into: panel)
            },
            multiplyTile: { KernelsNEON.multiplyTile($0) },
            multiplyTokens: { layout, tile, _, blocks, count, groups, c, _ in
                for group in 0..<groups {
                    multiplyToken(
                        layout, tile, blocks + group * count * layout.blockBytes, count: count,
                        into: c + group * PackedLayout.rows)
                }
            })
    }
#endif
