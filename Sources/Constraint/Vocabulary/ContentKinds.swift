/// Kinds of bytes in the content of a string: which of them the tokens below a node of the vocabulary's tree consist of,
/// and which of them leave an automaton in the state where it is.
struct ContentKinds: OptionSet, Sendable {
    let rawValue: UInt64

    /// Bytes beyond ASCII, in whole characters.
    static let characters = ContentKinds(rawValue: 1 << 61)
    /// Quotes, backslashes and control characters, which are no content.
    static let others = ContentKinds(rawValue: 1 << 62)
    /// Tokens that end within a character, or are no UTF-8.
    static let irregular = ContentKinds(rawValue: 1 << 63)

    /// Of a byte: itself, or the group of letters or digits that patterns seldom tell apart.
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

    /// The kinds all of whose bytes satisfy `isTaken`, which is asked about printable ASCII only.
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
