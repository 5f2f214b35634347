#if arch(arm64)
    import CIntrinsics
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
            set.products?.unpackPanel = { KernelsNEONMatrix.unpackPanel($0, $1, count: $2, into: $3) }
            set.products?.multiplyTile = { KernelsNEONMatrix.multiplyTile($0) }
            set.multiplyBFloats = { KernelsNEONMatrix.multiplyBFloats($0) }
            return set
        }()
    }
#endif
