/// A model's arithmetic: what one file in this folder implements for each family.
protocol Network: AnyObject {
    /// What the model remembers of a sequence. The format is set before the first step.
    var stateShape: StateShape { get set }
    var vocabularySize: Int { get }
    /// The context that the model was trained for.
    var trainedContext: Int { get }
    var kind: LocalModel.Kind { get }
    /// Of an encoder-decoder: the token that every output begins with.
    var decoderStart: Int32? { get }
    /// Values of the vectors that may take the place of token ids; `nil`: it reads tokens only.
    var imageWidth: Int? { get }
    /// Tokens of the longest input that it has positions for; `nil`: any number.
    var longestContext: Int? { get }

    /// Computes a step.
    ///
    /// - Returns: Logits, `[step.outputRows.count, vocabularySize]`, or states, `[step.outputRows.count, width]`; valid
    ///   until the next call.
    func forward(_ step: Step, on compute: Compute) -> Matrix
}

extension Network {
    /// The state of a sequence that has no tokens yet.
    ///
    /// - Parameters:
    ///   - encoding: What the encoder of an encoder-decoder reads for it.
    ///   - images: Pictures among its tokens.
    func makeState(
        in memory: StateMemory = StateMemory(), encoding: SequenceEncoding? = nil, images: SequenceImages? = nil
    ) -> SequenceState {
        let state = SequenceState(stateShape, in: memory)
        (state.encoding, state.images) = (encoding, images)
        return state
    }

    var kind: LocalModel.Kind { .decoder }
    var longestContext: Int? { nil }
    var imageWidth: Int? { nil }
    var decoderStart: Int32? { nil }
}

extension LocalModel {
    /// What a model can do.
    public enum Kind: String, Sendable {
        /// Continues text; its states can be embeddings too.
        case decoder
        /// Reads whole inputs: embeddings and scores, no text.
        case encoder
        /// An encoder reads the prompt, a decoder writes the answer (T5). Embeddings are the encoder's.
        case encoderDecoder
    }
}
