/// What a token is besides its text.
struct TokenKind: OptionSet, Sendable {
    let rawValue: UInt8

    static let normal = TokenKind(rawValue: 1 << 0)
    static let unknown = TokenKind(rawValue: 1 << 1)
    /// Not text: taken from text only where that is asked for, and not shown.
    static let control = TokenKind(rawValue: 1 << 2)
    /// Always taken from text, before anything else.
    static let userDefined = TokenKind(rawValue: 1 << 3)
    static let byte = TokenKind(rawValue: 1 << 4)
    /// Takes the white space before it, or after it, when it is taken from text.
    static let takesSpaceBefore = TokenKind(rawValue: 1 << 5)
    static let takesSpaceAfter = TokenKind(rawValue: 1 << 6)

    /// From `tokenizer.ggml.token_type`. Unused and undefined tokens are none of these: they are never shown.
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

    /// Cut out of text before the rest is tokenized.
    var isSpecial: Bool { !isDisjoint(with: [.control, .userDefined, .unknown]) }
    /// Only where the caller asks for special tokens.
    var isParsedOnRequest: Bool { !isDisjoint(with: [.control, .unknown]) }
}
