/// The kind of a token.
struct TokenKind: OptionSet, Sendable {
    let rawValue: UInt8

    static let normal = TokenKind(rawValue: 1 << 0)
    static let unknown = TokenKind(rawValue: 1 << 1)
    /// Not text: parsed from text only on request, and not shown.
    static let control = TokenKind(rawValue: 1 << 2)
    /// Always parsed from text, before other tokens.
    static let userDefined = TokenKind(rawValue: 1 << 3)
    static let byte = TokenKind(rawValue: 1 << 4)
    /// Absorbs white space before it (below: after it) when it is parsed from text.
    static let takesSpaceBefore = TokenKind(rawValue: 1 << 5)
    static let takesSpaceAfter = TokenKind(rawValue: 1 << 6)

    /// From `tokenizer.ggml.token_type`. Unused and undefined tokens have no kind: they are never shown.
    init(fileType: Int32) {
        switch fileType {
        case 1: self = .normal
        case 2: self = .unknown
        case 3: self = .control
        case 4: self = .userDefined
        case 6: self = .byte
        default: self = []
        }
    }

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Split off before the rest of the text is tokenized.
    var isSpecial: Bool { !isDisjoint(with: [.control, .userDefined, .unknown]) }
    /// Parsed only if the caller requests special tokens.
    var isParsedOnRequest: Bool { !isDisjoint(with: [.control, .unknown]) }
}
