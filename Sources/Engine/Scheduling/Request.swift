package import Compute

extension ModelThread {
    /// What the engine's thread needs for a generation.
    package struct Request: Sendable {
        let tokens: [Int32]
        /// Input of the encoder in an encoder-decoder; `tokens` are then the decoder's.
        var encoding: [Int32]?
        /// Images of the prompt; their rows have negative token IDs.
        var media: SequenceMedia?
        let chain: Sampler.Chain
        let options: SamplingOptions
        var adapters = AdapterSelection.none
        var group: GenerationGroup?
        /// Maximum tokens to generate: the option's limit, or what the context leaves.
        let maximumTokens: Int
        /// Client for fair scheduling; `nil`: the request is a client of its own.
        var client = FairShare.client
        /// Gets the state when the generation ends, for a `ContinuationReading`.
        var finalState: FinalState?
        /// Slot for the text of prompt and answer; `nil`: none.
        var slot: Int?
        /// Proposes tokens to follow all tokens so far. They are verified in one step; the text is the same as without.
        var draft: (@Sendable (_ tokens: [Int32]) -> [Int32])?

        package init(
            tokens: [Int32], encoding: [Int32]? = nil, media: SequenceMedia? = nil, chain: Sampler.Chain,
            options: SamplingOptions, adapters: AdapterSelection = .none, group: GenerationGroup? = nil,
            maximumTokens: Int, client: String? = FairShare.client, finalState: FinalState? = nil,
            slot: Int? = nil, draft: (@Sendable (_ tokens: [Int32]) -> [Int32])? = nil
        ) {
            self.tokens = tokens
            self.encoding = encoding
            self.media = media
            self.chain = chain
            self.options = options
            self.adapters = adapters
            self.group = group
            self.maximumTokens = maximumTokens
            self.client = client
            self.finalState = finalState
            self.slot = slot
            self.draft = draft
        }
    }
}
