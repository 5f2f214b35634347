package import Compute

/// A model's forward pass.
package protocol Network: AnyObject {
    /// Layout of a sequence's state. Its format must be set before the first step.
    var stateShape: StateShape { get set }
    var vocabularySize: Int { get }
    /// The context that the model was trained for, in tokens.
    var trainedContext: Int { get }
    var kind: ModelKind { get }
    /// In an encoder-decoder: the token that every output begins with.
    var decoderStart: Int32? { get }
    /// Width of vectors that may replace token embeddings; `nil`: the network accepts tokens only.
    var imageWidth: Int? { get }
    /// Maximum tokens of an input, if the network has a table of positions; `nil`: unlimited.
    var longestContext: Int? { get }

    /// Bytes of weights that it holds besides those of the file.
    var bytesBesideFile: Int { get }

    /// Head for multi-token prediction, which drafts tokens from `lastStates`.
    var predictor: PredictionHead? { get }
    /// The normalized states of all rows of the last step, `[rows, width]`, valid until the next call of `forward`;
    /// `nil` if there is no predictor to read them.
    var lastStates: Matrix? { get }

    /// Computes a step.
    ///
    /// - Returns: Logits, `[step.outputRows.count, vocabularySize]`, or states, `[step.outputRows.count, width]`; valid
    ///   until the next call.
    func forward(_ step: Step, on compute: Compute) -> Matrix
}

extension Network {
    /// The state of a new sequence.
    ///
    /// - Parameters:
    ///   - encoding: Input of the encoder in an encoder-decoder.
    ///   - media: Images among its tokens.
    package func makeState(
        in memory: StateMemory = StateMemory(), encoding: SequenceEncoding? = nil, media: SequenceMedia? = nil
    ) -> SequenceState {
        let state = SequenceState(stateShape, in: memory)
        (state.encoding, state.media) = (encoding, media)
        return state
    }

    package var kind: ModelKind { .decoder }
    package var longestContext: Int? { nil }
    package var bytesBesideFile: Int { 0 }
    package var imageWidth: Int? { nil }
    package var decoderStart: Int32? { nil }
    package var predictor: PredictionHead? { nil }
    var lastStates: Matrix? { nil }
}

/// The kind of a model.
public enum ModelKind: String, Sendable {
    /// Generates text; its states can also be used as embeddings.
    case decoder
    /// Embeddings and scores of whole inputs; generates no text.
    case encoder
    /// An encoder reads the prompt, a decoder generates the answer (T5). Embeddings are the encoder's.
    case encoderDecoder
}
