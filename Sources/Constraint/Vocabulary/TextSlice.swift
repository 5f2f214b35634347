/// The effects of tokens inside a JSON string, as far as they are the same in every string.
struct TextSlice: Sendable {
    /// By token: characters up to the closing quote, including an escape that is still open.
    let characters: [Int32]
    /// Maximum characters of a token.
    let longest: Int
    /// By token: number of the text after the closing quote; 0: empty, -1: the token has no closing quote.
    let remainder: [Int32]
    /// Trie of the texts after quotes in tokens, by their number.
    let remainders: TokenTrie
    let remainderCount: Int
    private let remainderIDs: [ArraySlice<UInt8>: Int32]
    /// Tokens in a string that accepts every character, by allowed escapes: only necessary ones, or any.
    let free: [LexemeMask]
    /// Tokens without quote or backslash, which stay in a string that accepts every character.
    let plain: TokenMask
    /// Tokens with a quote or a backslash.
    let special: TokenTrie
    /// Tokens with an escape before the closing quote and their decoded content, by allowed escapes as in `free`.
    let escapedClosers: [[(token: Int32, content: [UInt8])]]

    /// Tokens of at most `n` characters, for `n` in `0...limit`.
    private let charactersUpTo: [TokenMask]
    private let long: [Int32]
    private static let limit = 48

    init(_ bytes: [[UInt8]]) {
        var characters = [Int32](repeating: 0, count: bytes.count)
        var remainder = [Int32](repeating: -1, count: bytes.count)
        var remainderIDs: [ArraySlice<UInt8>: Int32] = [[]: 0]
        var builders = [LexemeMask.Builder(bytes.count), LexemeMask.Builder(bytes.count)]
        var plain = TokenMask(count: bytes.count)
        var special: [(bytes: ArraySlice<UInt8>, token: Int32)] = []
        var escapedClosers: [[(token: Int32, content: [UInt8])]] = [[], []]
        for id in bytes.indices where !bytes[id].isEmpty && bytes[id].count <= TokenTrie.longestToken {
            let (text, token) = (bytes[id], Int32(id))
            let isSpecial = text.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
            if isSpecial { special.append((text[...], token)) }
            for index in text.indices where text[index] == UInt8(ascii: "\"") {
                let rest = text[(index + 1)...]
                if remainderIDs[rest] == nil { remainderIDs[rest] = Int32(remainderIDs.count) }
            }
            let (count, quote) = Self.measure(text)
            characters[id] = count
            if let quote { remainder[id] = remainderIDs[text[(quote + 1)...]] ?? -1 }
            for (index, needed) in [true, false].enumerated() {
                switch Self.read(text, needed: needed) {
                case .refused: break
                case .inside:
                    builders[index].add(token, state: StringAutomaton.start)
                    if !isSpecial { plain.insert(token) }
                case .closed(let content, let isEscaped):
                    builders[index].close(
                        .init(token: token, remainder: remainder[id], characters: count, state: StringAutomaton.start))
                    if isEscaped { escapedClosers[index].append((token, content)) }
                }
            }
        }
        var masks = [TokenMask(count: bytes.count)]
        let byLength = Dictionary(grouping: bytes.indices) { characters[$0] }
        for count in 0...Self.limit {
            var mask = masks[max(count - 1, 0)]
            for id in byLength[Int32(count)] ?? [] { mask.insert(Int32(id)) }
            if count > 0 { masks.append(mask) } else { masks[0] = mask }
        }
        charactersUpTo = masks
        long = bytes.indices.filter { characters[$0] > Self.limit }.map { Int32($0) }
        longest = Int(characters.max() ?? 0)
        self.characters = characters
        self.remainder = remainder
        remainders = TokenTrie(remainderIDs.map { (bytes: $0.key, token: $0.value) })
        remainderCount = remainderIDs.count
        self.remainderIDs = remainderIDs
        free = builders.map { $0.finish() }
        self.plain = plain
        self.special = TokenTrie(special)
        self.escapedClosers = escapedClosers
    }

    /// Number of a text after a quote; `nil` if no token has it.
    func number(ofRemainder rest: ArraySlice<UInt8>) -> Int32? { remainderIDs[rest] }

    /// The mask of tokens with at most `count` characters, and further tokens that are not in the mask.
    func tokens(ofAtMost count: Int) -> (words: [UInt64], more: [Int32]) {
        if count <= Self.limit { return (charactersUpTo[max(count, 0)].words, []) }
        return (charactersUpTo[Self.limit].words, long.filter { characters[Int($0)] <= count })
    }

    /// Counts characters up to the first quote that is not escaped.
    private static func measure(_ text: [UInt8]) -> (characters: Int32, quote: Int?) {
        var (count, escape) = (Int32(0), Escape?.none)
        for (index, byte) in text.enumerated() {
            if escape != nil || byte == UInt8(ascii: "\\") {
                if escape == nil { count += 1 }
                var open = escape ?? Escape()
                switch open.step(byte, needed: false, free: true) {
                case .inside: escape = open
                case .character: escape = nil
                case .refused: return (count, nil)
                }
            } else if byte == UInt8(ascii: "\"") {
                return (count, index)
            } else if byte & 0xc0 != 0x80 {
                count += 1
            }
        }
        return (count, nil)
    }

    private enum Reading {
        case inside, refused
        case closed(content: [UInt8], isEscaped: Bool)
    }

    /// Reads a token that begins inside a string, between two characters.
    private static func read(_ text: [UInt8], needed: Bool) -> Reading {
        var (content, utf8, escape, isEscaped) = ([UInt8](), UInt8(0), Escape?.none, false)
        for byte in text {
            if escape != nil || (utf8 == 0 && byte == UInt8(ascii: "\\")) {
                var open = escape ?? Escape()
                isEscaped = true
                switch open.step(byte, needed: needed, free: true) {
                case .refused: return .refused
                case .inside: escape = open
                case .character(let character):
                    escape = nil
                    content += CharacterSet.encode(character)
                }
            } else if utf8 == 0, byte == UInt8(ascii: "\"") {
                return .closed(content: content, isEscaped: isEscaped)
            } else {
                guard byte >= 0x20 else { return .refused }
                utf8 = UTF8State.step(utf8, byte)
                if utf8 == UTF8State.refused { return .refused }
                content.append(byte)
            }
        }
        return .inside
    }
}
