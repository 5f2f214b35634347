/// Finds the added tokens of a `tokenizer.json`: leftmost first, of those that begin there the longest.
///
/// As in the `tokenizers` package, tokens are looked for twice: in the text as it is, then between those found in
/// normalized text.
struct AddedTokens: Sendable {
    typealias Fragment = SpecialTokens.Fragment

    /// Which tokens count.
    enum Selection: Sendable {
        /// Tokens that are text.
        case text
        /// Control tokens as well.
        case all
        /// Control tokens as well, which count only in text as it is: normalized text may come from a user.
        case quoted
    }

    private struct Tries: Sendable {
        var text = ByteTrie()
        var all = ByteTrie()
        var quoted = ByteTrie()
    }

    private var raw = Tries()
    private var normalized = Tries()
    private let rules: [Int32: AddedTokenRule]

    init(
        _ rules: [Int32: AddedTokenRule], _ tokens: [[UInt8]], _ kinds: [TokenKind], _ normalization: Normalization
    ) throws(TokenizerError) {
        self.rules = rules
        for (id, rule) in rules.sorted(by: { $0.key < $1.key }) {
            guard kinds.indices.contains(Int(id)), !tokens[Int(id)].isEmpty else { continue }
            let isControl = kinds[Int(id)].isParsedOnRequest
            let text =
                rule.contains(.isEscaped)
                ? tokens[Int(id)].withUnsafeBufferPointer { escapingSpaces($0) } : tokens[Int(id)]
            if isControl { try raw.quoted.insert(text, value: id) }
            guard rule.contains(.isNormalized) else {
                try raw.all.insert(text, value: id)
                if !isControl {
                    try raw.text.insert(text, value: id)
                    try raw.quoted.insert(text, value: id)
                }
                continue
            }
            let found = text.withUnsafeBufferPointer { normalization.normalize($0) } ?? text
            guard !found.isEmpty else { continue }
            try normalized.all.insert(found, value: id)
            if !isControl {
                try normalized.text.insert(found, value: id)
                try normalized.quoted.insert(found, value: id)
            }
        }
    }

    func fragments(
        of bytes: UnsafeBufferPointer<UInt8>, _ selection: Selection, isNormalized: Bool
    ) -> [Fragment] {
        let tries = isNormalized ? normalized : raw
        let trie =
            switch selection {
            case .text: tries.text
            case .all: tries.all
            case .quoted: tries.quoted
            }
        var fragments: [Fragment] = []
        var textStart = 0
        var position = 0
        while !trie.isEmpty, position < bytes.count {
            guard let match = trie.longestPrefix(of: bytes[position...]) else {
                position += 1
                continue
            }
            var (start, end) = (position, position + match.length)
            position = end
            let rule = rules[match.value] ?? []
            if rule.contains(.isSingleWord), Self.isWord(before: start, bytes) || Self.isWord(at: end, bytes) {
                continue
            }
            if rule.contains(.stripsLeft) { start = max(Self.spaceStart(before: start, bytes), textStart) }
            if rule.contains(.stripsRight) { end = Self.spaceEnd(after: end, bytes) }
            if textStart < start { fragments.append(.text(textStart..<start)) }
            fragments.append(.token(match.value))
            textStart = max(end, textStart)
            position = max(position, textStart)
        }
        if textStart < bytes.count { fragments.append(.text(textStart..<bytes.count)) }
        return fragments
    }

    private static func spaceEnd(after end: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var end = end
        while end < bytes.count {
            let (scalar, length) = decodeScalar(bytes, at: end)
            guard let scalar, Unicode.Scalar(scalar)?.properties.isWhitespace == true else { break }
            end += length
        }
        return end
    }

    private static func spaceStart(before start: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var start = start
        while let scalar = scalar(before: start, bytes), scalar.properties.isWhitespace {
            start -= UTF8.width(scalar)
        }
        return start
    }

    private static func isWord(before start: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        scalar(before: start, bytes).map { isWord($0) } ?? false
    }

    private static func isWord(at position: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard position < bytes.count, let value = decodeScalar(bytes, at: position).scalar else { return false }
        return Unicode.Scalar(value).map { isWord($0) } ?? false
    }

    /// The scalar that ends before a position.
    private static func scalar(before end: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Unicode.Scalar? {
        for length in 1...4 where length <= end && !UTF8.isContinuation(bytes[end - length]) {
            let (value, found) = decodeScalar(bytes, at: end - length)
            return found == length ? value.flatMap { Unicode.Scalar($0) } : nil
        }
        return nil
    }

    /// `\w` of Unicode's technical standard 18.
    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.properties.isAlphabetic || scalar.properties.isJoinControl { return true }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation: return true
        default: return false
        }
    }
}
