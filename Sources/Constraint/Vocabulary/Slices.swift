/// Tokens sorted by what they do inside a JSON string that admits any characters.
///
/// Those that stay inside are one mask, known beforehand. Of those that close it only what follows the quote matters, and
/// few of these remainders differ.
struct TextSlice: Sendable {
    /// Tokens that stay inside, by how escapes may be written: only where needed, or any way.
    let inside: [TokenMask]
    /// What follows the closing quote, for the same two. A token of these trees is an index of `groups`.
    let closing: [TokenTrie]
    let groups: [[[Int32]]]
    /// Tokens of whole characters without quote, backslash and control characters: those of at most `n` characters for
    /// `n` in `0...limit`, and all.
    let plainUpTo: [TokenMask]
    let allPlain: TokenMask
    /// Plain tokens of more than `limit` characters, with their number.
    let longPlain: [(token: Int32, characters: Int32)]
    /// Bytes of the longest token.
    let longest: Int
    /// Tokens that are not plain.
    let special: TokenTrie

    static let limit = 48

    init(_ bytes: [[UInt8]]) {
        var plain: [(token: Int32, characters: Int32)] = []
        var special: [(bytes: ArraySlice<UInt8>, token: Int32)] = []
        var longest = 0
        var inside = [TokenMask(count: bytes.count), TokenMask(count: bytes.count)]
        var closers = [Closers(), Closers()]
        for id in bytes.indices where !bytes[id].isEmpty {
            let text = bytes[id]
            longest = max(longest, text.count)
            if Self.plainPrefix(text) == text.count {
                plain.append((Int32(id), Int32(text.count { $0 & 0xc0 != 0x80 })))
                for index in 0...1 { inside[index].insert(Int32(id)) }
                continue
            }
            special.append((text[...], Int32(id)))
            for (index, needed) in [true, false].enumerated() {
                switch Self.read(text, needed: needed) {
                case .inside: inside[index].insert(Int32(id))
                case .closed(let rest): closers[index].add(rest, Int32(id))
                case .refused: break
                }
            }
        }
        var masks = [TokenMask(count: bytes.count)]
        let byLength = Dictionary(grouping: plain) { $0.characters }
        for characters in 1...Self.limit {
            var mask = masks[characters - 1]
            for entry in byLength[Int32(characters)] ?? [] { mask.insert(entry.token) }
            masks.append(mask)
        }
        plainUpTo = masks
        longPlain = plain.filter { $0.characters > Self.limit }
        var all = masks[Self.limit]
        for entry in longPlain { all.insert(entry.token) }
        allPlain = all
        self.longest = longest
        self.inside = inside
        closing = closers.map { closers in TokenTrie(closers.groupOf.map { (bytes: $0.key, token: $0.value) }) }
        groups = closers.map(\.groups)
        self.special = TokenTrie(special)
    }

    /// Tokens by what follows their quote. The empty remainder is group 0, which no tree holds.
    private struct Closers {
        var groupOf: [ArraySlice<UInt8>: Int32] = [[]: 0]
        var groups: [[Int32]] = [[]]

        mutating func add(_ rest: ArraySlice<UInt8>, _ token: Int32) {
            if let group = groupOf[rest] {
                groups[Int(group)].append(token)
            } else {
                groupOf[rest] = Int32(groups.count)
                groups.append([token])
            }
        }
    }

    private enum Reading {
        case inside, refused
        case closed(ArraySlice<UInt8>)
    }

    /// Reads a token from within a string, at the border of a character.
    private static func read(_ text: [UInt8], needed: Bool) -> Reading {
        var utf8: UInt8 = 0
        var escape: Escape?
        for (index, byte) in text.enumerated() {
            if escape != nil || (utf8 == 0 && byte == UInt8(ascii: "\\")) {
                var open = escape ?? Escape()
                switch open.step(byte, needed: needed, free: true) {
                case .refused: return .refused
                case .inside: escape = open
                case .character: escape = nil
                }
            } else if utf8 == 0, byte == UInt8(ascii: "\"") {
                return .closed(text[(index + 1)...])
            } else {
                guard byte >= 0x20 else { return .refused }
                utf8 = UTF8State.step(utf8, byte)
                if utf8 == UTF8State.refused { return .refused }
            }
        }
        return .inside
    }

    /// Bytes of whole characters at the beginning that a JSON string may hold as they are.
    static func plainPrefix(_ text: [UInt8]) -> Int {
        var (border, state) = (0, UInt8(0))
        for (index, byte) in text.enumerated() {
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return border }
            state = UTF8State.step(state, byte)
            if state == UTF8State.refused { return border }
            if state == 0 { border = index + 1 }
        }
        return border
    }
}

/// Tokens that are or begin with JSON's white space: the first leave a state that skips it as it is.
struct WhitespaceSlice: Sendable {
    let whole: TokenMask
    /// What follows the white space; a token of this tree is an index of `groups`.
    let remainders: TokenTrie
    let groups: [[Int32]]
    /// Tokens that do not begin with white space.
    let others: TokenTrie

    static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }

    init(_ bytes: [[UInt8]]) {
        var whole = TokenMask(count: bytes.count)
        var groupOf: [ArraySlice<UInt8>: Int32] = [:]
        var groups: [[Int32]] = []
        var others: [(bytes: ArraySlice<UInt8>, token: Int32)] = []
        for id in bytes.indices where !bytes[id].isEmpty {
            let rest = bytes[id].drop(while: Self.isWhitespace)
            if rest.isEmpty {
                whole.insert(Int32(id))
            } else if rest.count < bytes[id].count {
                if let group = groupOf[rest] {
                    groups[Int(group)].append(Int32(id))
                } else {
                    groupOf[rest] = Int32(groups.count)
                    groups.append([Int32(id)])
                }
            } else {
                others.append((rest, Int32(id)))
            }
        }
        self.whole = whole
        self.others = TokenTrie(others)
        remainders = TokenTrie(groupOf.map { (bytes: $0.key, token: $0.value) })
        self.groups = groups
    }
}

/// Whether bytes are UTF-8, byte by byte.
enum UTF8State {
    static let refused: UInt8 = 255

    /// States: 0 at a character's border; 1, 2, 3 that many continuation bytes to come; 4 to 7 where the next one is
    /// bounded (after E0, ED, F0, F4).
    @inline(__always)
    static func step(_ state: UInt8, _ byte: UInt8) -> UInt8 {
        switch state {
        case 0:
            switch byte {
            case 0..<0x80: return 0
            case 0xc2...0xdf: return 1
            case 0xe0: return 4
            case 0xed: return 5
            case 0xe1...0xef: return 2
            case 0xf0: return 6
            case 0xf1...0xf3: return 3
            case 0xf4: return 7
            default: return refused
            }
        case 1: return byte & 0xc0 == 0x80 ? 0 : refused
        case 2: return byte & 0xc0 == 0x80 ? 1 : refused
        case 3: return byte & 0xc0 == 0x80 ? 2 : refused
        case 4: return (0xa0...0xbf).contains(byte) ? 1 : refused
        case 5: return (0x80...0x9f).contains(byte) ? 1 : refused
        case 6: return (0x90...0xbf).contains(byte) ? 2 : refused
        case 7: return (0x80...0x8f).contains(byte) ? 2 : refused
        default: return refused
        }
    }
}
