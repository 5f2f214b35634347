package import KernelFormats

/// Attention in 16-bit integers, of the AVX2 and AVX-512 tiers; their functions document the arguments.
package struct WordAttentionKernels: Sendable {
    package typealias RoundQueries =
        @Sendable (UnsafeMutablePointer<Float>, _ width: Int, UnsafeMutablePointer<Float>) -> Void
    package typealias RoundHalves = @Sendable (UnsafeRawPointer, WordPage, _ next: UnsafeRawPointer) -> Void

    package typealias RoundByteQueries =
        @Sendable (
            ByteQueries, UnsafePointer<Float>, _ base: UnsafePointer<Float>, _ room: UnsafeMutablePointer<Float>
        ) -> Void

    package let roundQueries: RoundQueries
    /// `nil`: the tier has no `ByteKeys`.
    package let roundByteQueries: RoundByteQueries?
    package let roundPage: @Sendable (UnsafePointer<Float>, WordPage) -> Void
    package let roundHalves: RoundHalves
    package let attend: @Sendable (WordAttention) -> Void

    package init(
        roundQueries: @escaping RoundQueries, roundByteQueries: RoundByteQueries?,
        roundPage: @escaping @Sendable (UnsafePointer<Float>, WordPage) -> Void, roundHalves: @escaping RoundHalves,
        attend: @escaping @Sendable (WordAttention) -> Void
    ) {
        self.roundQueries = roundQueries
        self.roundByteQueries = roundByteQueries
        self.roundPage = roundPage
        self.roundHalves = roundHalves
        self.attend = attend
    }
}
