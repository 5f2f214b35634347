/// Text to token ids and back, as one model does it.
///
/// Ids are those that llama.cpp gives for the same file. Encoding takes time in proportion to the text, whatever it is,
/// but for a logarithm over the length of its longest piece. A value is immutable and may be used from any thread.
public struct TextTokenizer: Sendable {
    enum Algorithm: Sendable {
        case bytePair(BytePairEncoder)
        case sentencePiece(SentencePieceEncoder)
        case wordPiece(WordPieceEncoder)
        case unigram(UnigramEncoder)
    }

    let vocabulary: Vocabulary
    /// What each token is in text.
    let texts: ByteStrings
    let special: SpecialTokens
    let algorithm: Algorithm
    /// Whether text is encoded as if a space stood before it, which decoding takes off again.
    let addsSpacePrefix: Bool
    public let addsBeginningOfSequence: Bool
    public let addsEndOfSequence: Bool
    /// Whether a separator follows the first of two texts.
    let addsSeparator: Bool

    /// Values of `tokenizer.ggml.model` that can be used.
    static let knownModels = ["gpt2", "gemma4", "llama", "bert", "t5"]

    public var vocabularySize: Int { vocabulary.count }
    public var beginningOfSequence: Int32? { vocabulary.beginningOfSequence }
    public var endOfSequence: Int32? { vocabulary.endOfSequence }
    /// The tokens after which nothing more is to be generated: of the end of the text, of a turn, of a message.
    public var endOfGeneration: Set<Int32> { vocabulary.endOfGeneration }
    /// The tokens around the text before and after a gap; `nil` for a model that was not trained to fill one.
    public var fillInMiddle: FillInMiddle? { vocabulary.fillInMiddle }

    /// - Throws: `TokenizerError` that names the field, where the description is of no known kind or contradicts itself.
    public init(_ description: TokenizerDescription) throws(TokenizerError) {
        let scheme = try TokenizerScheme(description)
        vocabulary = try Vocabulary(description, defaults: scheme.defaultIDs)
        special = try SpecialTokens(description.tokens, vocabulary.kinds)
        texts = scheme.texts(of: description.tokens, vocabulary.kinds)
        algorithm = try scheme.algorithm(description, vocabulary)
        addsSpacePrefix = description.addSpacePrefix ?? scheme.addsSpacePrefix
        addsBeginningOfSequence =
            scheme.mustBegin
            || (description.addBeginningOfSequence ?? scheme.addsBeginningOfSequence)
        addsEndOfSequence = description.addEndOfSequence ?? scheme.addsEndOfSequence
        addsSeparator = description.addSeparator ?? scheme.addsSeparator
    }
}

/// Tokens of a prompt that asks for the text of a gap: `prefix`, what comes before the gap, `suffix`, what comes after it,
/// `middle`.
public struct FillInMiddle: Sendable, Equatable {
    public var prefix: Int32
    public var suffix: Int32
    public var middle: Int32
}
