/// The rules of a `tokenizer.json` that GGUF's own keys cannot express. GGUF files of this package have them under
/// `tokenizer.json.*`; without them, text is encoded as llama.cpp does.
public struct PublishedRules: Sendable {
    /// Normalization of the text between added tokens.
    public var normalizer: [NormalizationStep] = []
    /// How tokens are found in text, by ID.
    public var added: [Int32: AddedTokenRule] = [:]
    /// Whether a piece that is a token is used without merging.
    public var ignoresMerges = false
    public var spacePrefix = SpacePrefix.never
    /// Whether spaces become "▁" before text is split.
    public var escapesSpaces = false
    /// Whether each "▁" begins a piece of its own.
    public var splitsAtSpaces = false
    /// WordPiece: maximum characters of a word; a longer one is the unknown token.
    public var maximumWordLength: Int?
    /// Whether decoding removes the space in front of a text.
    public var stripsSpace = false
    /// WordPiece: whether decoding puts no space before a full stop, a comma, a question and an exclamation mark.
    public var tidiesPunctuation = false

    public init() {}
}

/// How an added token is found.
public struct AddedTokenRule: OptionSet, Sendable {
    public let rawValue: Int32
    /// Takes the white space in front of it.
    public static let stripsLeft = AddedTokenRule(rawValue: 1)
    /// Takes the white space after it.
    public static let stripsRight = AddedTokenRule(rawValue: 2)
    /// Is not found within words.
    public static let isSingleWord = AddedTokenRule(rawValue: 4)
    /// Is looked for in normalized text.
    public static let isNormalized = AddedTokenRule(rawValue: 8)
    /// Its spaces are "▁" in the published text.
    public static let isEscaped = AddedTokenRule(rawValue: 16)

    public init(rawValue: Int32) { self.rawValue = rawValue }
}

/// Where a space is put in front of text.
public enum SpacePrefix: String, Sendable {
    case never
    /// In front of each text between added tokens that does not begin with a space.
    case each
    /// The same, but only at the beginning of the whole text.
    case first
    /// In front of each word; white space between words is removed.
    case words
}
