/// Everything a model file says of its tokenizer, field by field as GGUF spells it (`tokenizer.ggml.*`).
public struct TokenizerDescription: Sendable {
    /// `tokenizer.ggml.model`: `gpt2` (byte-level BPE), `llama` (SentencePiece), …
    public var model: String
    /// `tokenizer.ggml.pre`: the family of the pre-tokenizer.
    public var pre: String?
    /// The text of each token, as the file spells it, as raw bytes (a file may hold invalid UTF-8).
    public var tokens: [[UInt8]]
    public var scores: [Float]?
    /// `tokenizer.ggml.token_type`: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
    public var types: [Int32]?
    public var merges: [[UInt8]]?
    public var beginningOfSequence: Int32?
    public var endOfSequence: Int32?
    public var endOfTurn: Int32?
    public var unknown: Int32?
    public var addBeginningOfSequence: Bool?
    public var addEndOfSequence: Bool?
    public var addSpacePrefix: Bool?
    public var removeExtraWhitespaces: Bool?

    public init(model: String, tokens: [[UInt8]]) {
        self.model = model
        self.tokens = tokens
    }
}
