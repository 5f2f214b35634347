/// A model's tokenizer.
///
/// Gives the same IDs as llama.cpp for the same file. Encoding takes linear time in the length of the text, times the
/// logarithm of its longest piece. Immutable; may be used from any thread.
public struct TextTokenizer: Sendable {
    enum Algorithm: Sendable {
        case bytePair(BytePairEncoder)
        case sentencePiece(SentencePieceEncoder)
        case wordPiece(WordPieceEncoder)
        case unigram(UnigramEncoder)
    }

    let vocabulary: Vocabulary
    /// The text of each token.
    let texts: ByteStrings
    let special: SpecialTokens
    /// Replaces `special` for encoding, and normalizes, in models with published rules.
    let published: PublishedTokenizer?
    let algorithm: Algorithm
    /// Whether text is encoded with a space in front, which decoding removes.
    let addsSpacePrefix: Bool
    /// Whether an encoded sequence begins with `beginningOfSequence`.
    public let addsBeginningOfSequence: Bool
    /// Whether an encoded sequence ends with `endOfSequence`.
    public let addsEndOfSequence: Bool
    /// Whether a separator follows the first text of a pair.
    let addsSeparator: Bool

    /// Supported values of `tokenizer.ggml.model`.
    static let knownModels = ["gpt2", "gemma4", "llama", "bert", "t5"]

    public var vocabularySize: Int { vocabulary.count }
    public var beginningOfSequence: Int32? { vocabulary.beginningOfSequence }
    public var endOfSequence: Int32? { vocabulary.endOfSequence }
    /// The tokens that end generation: end of text, of a turn, of a message.
    public var endOfGeneration: Set<Int32> { vocabulary.endOfGeneration }
    /// The tokens for fill-in-the-middle prompts; `nil` if the model was not trained for them.
    public var fillInMiddle: FillInMiddle? { vocabulary.fillInMiddle }

    /// - Throws: `TokenizerError` naming the field, if the description is unsupported or inconsistent.
    public init(_ description: TokenizerDescription) throws(TokenizerError) {
        let scheme = try TokenizerScheme(description)
        vocabulary = try Vocabulary(description, defaults: scheme.defaultIDs)
        // With published rules, the search serves only to quote control tokens, and another token must not hide one.
        let kinds = vocabulary.kinds
        special = try SpecialTokens(
            description.tokens, description.rules == nil ? kinds : kinds.map { $0.isParsedOnRequest ? $0 : [] })
        published = try description.rules.map { rules throws(TokenizerError) in
            try PublishedTokenizer(rules, description, kinds)
        }
        texts = scheme.texts(
            of: published?.shown(description.tokens) ?? description.tokens, vocabulary.kinds, description.rules)
        algorithm = try scheme.algorithm(description, vocabulary)
        addsSpacePrefix = description.addSpacePrefix ?? scheme.addsSpacePrefix
        addsBeginningOfSequence =
            scheme.mustBegin
            || (description.addBeginningOfSequence ?? scheme.addsBeginningOfSequence)
        addsEndOfSequence = description.addEndOfSequence ?? scheme.addsEndOfSequence
        addsSeparator = description.addSeparator ?? scheme.addsSeparator
    }
}

/// Tokens of a fill-in-the-middle prompt: `prefix` comes before the text before the gap, `suffix` before the text after
/// it, `middle` before the text to generate.
public struct FillInMiddle: Sendable, Equatable {
    public var prefix: Int32
    public var suffix: Int32
    public var middle: Int32
    /// Comes before the name of the repository; `nil` if the vocabulary has no token for it.
    public var repository: Int32?
    /// Comes before the name of each file; `nil` if the vocabulary has no token for it.
    public var file: Int32?
}
