package import KernelFormats

/// Integer matrix products with activations in `IntegerTile`s; the tiers' functions document the arguments.
package struct ProductKernels: Sendable {
    package typealias RoundToken =
        @Sendable (
            UnsafePointer<Float>, _ count: Int, _ pair: Bool, UnsafeMutableRawPointer, _ columns: Int, _ column: Int
        ) -> Float
    package typealias UnpackPanel =
        @Sendable (
            PackedLayout, UnsafeRawPointer, _ trailing: UnsafeRawPointer?, Int, UnsafeMutableRawPointer, _ pairs: Bool
        ) -> Void

    /// Whether a format needs activations of all tokens in 14 bits, two columns each.
    package let needsPairs: @Sendable (PackedLayout.Format) -> Bool
    /// Quantizes a token to a tile and returns its scale, by which results of `multiplyTile` must be multiplied.
    package let roundToken: RoundToken
    package var unpackPanel: UnpackPanel
    package var multiplyTile: @Sendable (TileProduct) -> Void
    /// `nil`: `roundToken` always returns 1, and results are copied as they are.
    package var scaleResults: ScaleResults?
    /// Products of up to `pairsOfRow` tokens.
    package let multiplyTokens: @Sendable (PackedProduct) -> Void

    /// Tokens in 14 bits per tile for `multiplyTile`, and for `multiplyTokens`.
    package var pairsOfTile = IntegerTile.columns / 2
    package var pairsOfRow = 1
    /// The most tokens that are multiplied by `multiplyTokens`, if all have 14 bits.
    package var fewTokens = 1
    /// Bytes per 32 columns of a panel for tokens in 14 bits.
    package var pairPanelBytes: @Sendable (_ segments: Int) -> Int = IntegerPanel.blockBytes
    /// Whether `multiplyTile` and `multiplyTokens` multiply split weights, and `multiplyTokens` computes bounds.
    package var boundsSplitWeights = false

    package init(
        needsPairs: @escaping @Sendable (PackedLayout.Format) -> Bool, roundToken: @escaping RoundToken,
        unpackPanel: @escaping UnpackPanel, multiplyTile: @escaping @Sendable (TileProduct) -> Void,
        multiplyTokens: @escaping @Sendable (PackedProduct) -> Void
    ) {
        self.needsPairs = needsPairs
        self.roundToken = roundToken
        self.unpackPanel = unpackPanel
        self.multiplyTile = multiplyTile
        self.multiplyTokens = multiplyTokens
    }
}

/// Multiplies a product's results by their token's scale.
package typealias ScaleResults =
    @Sendable (
        UnsafePointer<Float>, _ stride: Int, _ groups: Int, _ scale: Float, UnsafeMutablePointer<Float>
    ) -> Void

/// Integer products with activations in `WideTile`s, of AVX-512 and AVX-VNNI; the tiers' functions document the arguments.
package struct WideKernels: Sendable {
    package typealias RoundToken =
        @Sendable (
            UnsafePointer<Float>, _ count: Int, _ pair: Bool, UnsafeMutableRawPointer, _ sliceStride: Int,
            _ columns: Int, _ column: Int, _ next: UnsafePointer<Float>
        ) -> Float
    package typealias UnpackPanel =
        @Sendable (PackedLayout, UnsafeRawPointer, _ trailing: UnsafeRawPointer?, Int, UnsafeMutableRawPointer) -> Void

    /// Quantizes a token to slices and returns its scale, by which results must be multiplied.
    package let roundToken: RoundToken
    package let unpackPanel: UnpackPanel
    package let multiplyTiles: @Sendable (WideProduct) -> Void
    /// Products of up to `WideTile.streamedTokens` tokens.
    package let multiplyTokens: @Sendable (PackedProduct) -> Void
    package let scaleResults: ScaleResults

    package init(
        roundToken: @escaping RoundToken, unpackPanel: @escaping UnpackPanel,
        multiplyTiles: @escaping @Sendable (WideProduct) -> Void,
        multiplyTokens: @escaping @Sendable (PackedProduct) -> Void, scaleResults: @escaping ScaleResults
    ) {
        self.roundToken = roundToken
        self.unpackPanel = unpackPanel
        self.multiplyTiles = multiplyTiles
        self.multiplyTokens = multiplyTokens
        self.scaleResults = scaleResults
    }
}

/// Products of 16-bit integers, in `WordTile`s and `WordPanel`s, of AVX2 and AVX-512; the tiers' functions document the arguments.
package struct WordKernels: Sendable {
    package typealias RoundWords =
        @Sendable (UnsafePointer<Float>, _ count: Int, UnsafeMutableRawPointer, _ sliceStride: Int, _ token: Int) ->
        Float
    package typealias UnpackWords =
        @Sendable (TensorType, UnsafeRawPointer, _ columns: Int, UnsafeMutableRawPointer) -> Void

    package let roundWords: RoundWords
    package let unpackWords: UnpackWords
    package let multiplyWords: @Sendable (WordProduct) -> Void
    package let scaleResults: ScaleResults

    package init(
        roundWords: @escaping RoundWords, unpackWords: @escaping UnpackWords,
        multiplyWords: @escaping @Sendable (WordProduct) -> Void, scaleResults: @escaping ScaleResults
    ) {
        self.roundWords = roundWords
        self.unpackWords = unpackWords
        self.multiplyWords = multiplyWords
        self.scaleResults = scaleResults
    }
}
