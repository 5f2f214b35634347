/// Kinds of bytes in string content: used for the kinds that the tokens below a trie node consist of, and the kinds
/// that leave an automaton's state unchanged.
struct ContentKinds: OptionSet, Sendable {
    let rawValue: UInt64

    /// Bytes beyond ASCII, in whole characters.
    static let characters = ContentKinds(rawValue: 1 << 61)
    /// Quotes, backslashes and control characters, which are not plain content.
    static let others = ContentKinds(rawValue: 1 << 62)
    /// Tokens that end within a character, or are not UTF-8.
    static let irregular = ContentKinds(rawValue: 1 << 63)

    /// Kind of each byte: its own, or that of a group of letters or digits that patterns seldom distinguish.
    private static let kinds: [ContentKinds] = (UInt8.min...UInt8.max).map { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"): ContentKinds(rawValue: 1 << 0)
        case UInt8(ascii: "g")...UInt8(ascii: "z"): ContentKinds(rawValue: 1 << 1)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): ContentKinds(rawValue: 1 << 2)
        case UInt8(ascii: "G")...UInt8(ascii: "Z"): ContentKinds(rawValue: 1 << 3)
        case UInt8(ascii: "0"): ContentKinds(rawValue: 1 << 4)
        case UInt8(ascii: "1")...UInt8(ascii: "9"): ContentKinds(rawValue: 1 << 5)
        case 0..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"): others
        // The rest of ASCII, byte by byte: bits 6 to 49.
        case 0x20..<0x40: ContentKinds(rawValue: 1 << UInt64(6 + byte - 0x20))
        case 0x40: ContentKinds(rawValue: 1 << 38)
        case 0x5b..<0x61: ContentKinds(rawValue: 1 << UInt64(39 + byte - 0x5b))
        case 0x7b..<0x80: ContentKinds(rawValue: 1 << UInt64(45 + byte - 0x7b))
        default: characters
        }
    }

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(_ byte: UInt8) { self = Self.kinds[Int(byte)] }

    /// The kinds of which all bytes satisfy `isTaken`; it is called with printable ASCII only.
    static func ofASCII(_ isTaken: (UInt8) -> Bool) -> ContentKinds {
        var (all, refused) = (ContentKinds(), others)
        for byte in UInt8(0x20)..<0x80 {
            let kind = ContentKinds(byte)
            all.insert(kind)
            if !refused.contains(kind), !isTaken(byte) { refused.insert(kind) }
        }
        return all.subtracting(refused)
    }
}
