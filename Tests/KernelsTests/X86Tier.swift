#if arch(x86_64)
    import CIntrinsics
    import KernelsAVX512
    import KernelsAVXVNNI

    /// The tiers for x86-64, slowest first.
    enum X86Tier: CaseIterable, Sendable {
        case avx2, avxVNNI, avx512

        /// Those that this processor has.
        static let available = allCases.filter { $0.isSupported }

        private var isSupported: Bool {
            switch self {
            case .avx2: cpu_has_avx2_fma_f16c() != 0
            case .avxVNNI: KernelsAVXVNNI.isSupported()
            case .avx512: KernelsAVX512.isSupported()
            }
        }
    }
#endif
