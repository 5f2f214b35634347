/// A model file's tokenizer, field by field as in GGUF (`tokenizer.ggml.*`).
public struct TokenizerDescription: Sendable {
    /// `tokenizer.ggml.model`: `gpt2` (byte-level BPE), `llama` (SentencePiece), `bert` (WordPiece), `t5` (Unigram), …
    public var model: String
    /// `tokenizer.ggml.pre`: the family of the pre-tokenizer.
    public var pre: String?
    /// The text of each token as in the file, as raw bytes, which may be invalid UTF-8.
    public var tokens: [[UInt8]]
    /// `tokenizer.ggml.scores`: one per token.
    public var scores: [Float]?
    /// `tokenizer.ggml.token_type`: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
    public var types: [Int32]?
    /// `tokenizer.ggml.merges`: pairs of texts separated by a space, in order of rank.
    public var merges: [[UInt8]]?
    /// `tokenizer.ggml.bos_token_id`
    public var beginningOfSequence: Int32?
    /// `tokenizer.ggml.eos_token_id`
    public var endOfSequence: Int32?
    /// `tokenizer.ggml.eos_token_ids`: all tokens that end an answer, of models that have several. Ollama's files have
    /// this key; llama.cpp's do not.
    public var endsOfSequence: [Int32] = []
    /// `tokenizer.ggml.eot_token_id`
    public var endOfTurn: Int32?
    /// `tokenizer.ggml.eom_token_id`: the end of a message that expects a tool result.
    public var endOfMessage: Int32?
    /// `tokenizer.ggml.unknown_token_id`
    public var unknown: Int32?
    /// `tokenizer.ggml.seperator_token_id` (GGUF's spelling).
    public var separator: Int32?
    /// `tokenizer.ggml.fim_pre_token_id`
    public var fillInMiddlePrefix: Int32?
    /// `tokenizer.ggml.fim_suf_token_id`
    public var fillInMiddleSuffix: Int32?
    /// `tokenizer.ggml.fim_mid_token_id`
    public var fillInMiddleMiddle: Int32?
    /// `tokenizer.ggml.fim_pad_token_id`
    public var fillInMiddlePad: Int32?
    /// `tokenizer.ggml.fim_rep_token_id`
    public var fillInMiddleRepository: Int32?
    /// `tokenizer.ggml.fim_sep_token_id`
    public var fillInMiddleSeparator: Int32?
    /// `tokenizer.ggml.add_bos_token`
    public var addBeginningOfSequence: Bool?
    /// `tokenizer.ggml.add_eos_token`
    public var addEndOfSequence: Bool?
    /// `tokenizer.ggml.add_sep_token`: whether to add a separator between the two texts of a pair.
    public var addSeparator: Bool?
    /// `tokenizer.ggml.add_space_prefix`: whether to encode text with a space in front.
    public var addSpacePrefix: Bool?
    /// `tokenizer.ggml.remove_extra_whitespaces`
    public var removeExtraWhitespaces: Bool?
    /// `tokenizer.ggml.precompiled_charsmap`: a Unigram model's normalization, compiled by SentencePiece.
    public var precompiledCharsmap: [UInt8]?
    /// `tokenizer.ggml.normalizer.lowercase`; WordPiece only.
    public var normalizerLowercase: Bool?
    /// `tokenizer.ggml.normalizer.strip_accents`; WordPiece only.
    public var normalizerStripAccents: Bool?
    /// `general.name`. Identifies models whose special tokens absorb white space, which files do not declare.
    public var modelName: String?
    /// `general.architecture`, used for the same purpose.
    public var architecture: String?

    /// `tokenizer.json.*`: the rules of the tokenizer as it was published; `nil`: those of llama.cpp.
    public var rules: PublishedRules?

    public init(model: String, tokens: [[UInt8]]) {
        self.model = model
        self.tokens = tokens
    }
}
