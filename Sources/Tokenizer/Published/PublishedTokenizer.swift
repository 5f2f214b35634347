/// Splits text into added tokens and normalized text, by the rules of a `tokenizer.json`.
struct PublishedTokenizer: Sendable {
    enum Segment {
        case token(Int32)
        /// Normalized text, with spaces in front and as "▁" where the rules say so.
        case text(UnsafeBufferPointer<UInt8>)
    }

    let rules: PublishedRules
    private let added: AddedTokens
    private let normalization: Normalization

    init(
        _ rules: PublishedRules, _ description: TokenizerDescription, _ kinds: [TokenKind]
    ) throws(TokenizerError) {
        self.rules = rules
        normalization = try Normalization(rules.normalizer, map: description.precompiledCharsmap ?? [])
        added = try AddedTokens(rules.added, description.tokens, kinds, normalization)
    }

    /// Tokens as decoding shows them: those found in normalized text are normalized.
    func shown(_ tokens: [[UInt8]]) -> [[UInt8]] {
        var tokens = tokens
        for (id, rule) in rules.added where rule.contains(.isNormalized) && tokens.indices.contains(Int(id)) {
            let text = tokens[Int(id)].withUnsafeBufferPointer { normalization.normalize($0) }
            if let text { tokens[Int(id)] = text }
        }
        return tokens
    }

    /// - Parameter unquote: Removes quoting from text between tokens; `nil` if the text is not quoted.
    func pieces(
        of bytes: UnsafeBufferPointer<UInt8>, parseSpecial: Bool,
        _ unquote: ((UnsafeBufferPointer<UInt8>) -> [UInt8]?)?, _ body: (Segment) -> Void
    ) {
        let selection: AddedTokens.Selection = !parseSpecial ? .text : unquote == nil ? .all : .quoted
        for fragment in added.fragments(of: bytes, selection, isNormalized: false) {
            switch fragment {
            case .token(let id): body(.token(id))
            case .text(let range):
                let text = UnsafeBufferPointer(rebasing: bytes[range])
                let isFirst = range.lowerBound == 0
                let plain = unquote?(text)
                Self.with(plain, or: text) { text in
                    Self.with(normalization.normalize(text), or: text) { text in
                        normalizedPieces(of: text, selection, isFirst: isFirst, body)
                    }
                }
            }
        }
    }

    private func normalizedPieces(
        of text: UnsafeBufferPointer<UInt8>, _ selection: AddedTokens.Selection, isFirst: Bool,
        _ body: (Segment) -> Void
    ) {
        for fragment in added.fragments(of: text, selection, isNormalized: true) {
            switch fragment {
            case .token(let id): body(.token(id))
            case .text(let range):
                let piece = UnsafeBufferPointer(rebasing: text[range])
                Self.with(spaced(piece, isFirst: isFirst && range.lowerBound == 0), or: piece) { body(.text($0)) }
            }
        }
    }

    private static func with(
        _ changed: [UInt8]?, or text: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        if let changed { changed.withUnsafeBufferPointer(body) } else { body(text) }
    }

    /// - Returns: `nil` if the text stays as it is.
    private func spaced(_ text: UnsafeBufferPointer<UInt8>, isFirst: Bool) -> [UInt8]? {
        if rules.spacePrefix == .words { return words(text) }
        let space = rules.escapesSpaces ? spaceSymbol : [UInt8(ascii: " ")]
        let beginsWithSpace =
            text.first == UInt8(ascii: " ") || (rules.escapesSpaces && text.prefix(3).elementsEqual(spaceSymbol))
        let takesPrefix = rules.spacePrefix == .each || (rules.spacePrefix == .first && isFirst)
        guard rules.escapesSpaces || takesPrefix else { return nil }
        let prefix = takesPrefix && !beginsWithSpace ? space : []
        return prefix + (rules.escapesSpaces ? escapingSpaces(text) : Array(text))
    }

    /// Each word after a "▁".
    private func words(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        let table = CharacterTable.unicode
        var result: [UInt8] = []
        var isInWord = false
        var position = 0
        while position < text.count {
            let (value, length) = decodeScalar(text, at: position)
            if value.map({ table[$0].meets(.whitespace) }) == true {
                isInWord = false
            } else {
                if !isInWord, !text[position...].starts(with: spaceSymbol) { result += spaceSymbol }
                isInWord = true
                result += text[position..<position + length]
            }
            position += length
        }
        return result
    }
}
