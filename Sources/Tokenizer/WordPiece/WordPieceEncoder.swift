import Foundation

/// BERT's WordPiece: splits each word greedily into the longest tokens. A word that cannot be split becomes the unknown
/// token.
///
/// GGUF files mark the beginning of a word ("▁word"), where BERT's own vocabularies mark its continuation ("##ing").
struct WordPieceEncoder: Sendable {
    private let tokens: ByteTrie
    /// With published rules, the tokens that begin a word, without their "▁"; `tokens` are then the others.
    private let beginnings: ByteTrie
    private let unknown: Int32?
    private let lowercases: Bool
    private let stripsAccents: Bool
    /// Maximum characters of a word; a longer one is the unknown token. Only published rules have one.
    private let maximumWordLength: Int?
    /// Whether text comes normalized, as published rules normalize it before it is encoded.
    private let isNormalized: Bool

    init(_ description: TokenizerDescription, unknown: Int32?) throws(TokenizerError) {
        var (tokens, beginnings) = (ByteTrie(), ByteTrie())
        for (id, text) in description.tokens.enumerated() where !text.isEmpty {
            if description.rules != nil, text.starts(with: spaceSymbol) {
                try beginnings.insert(Array(text.dropFirst(spaceSymbol.count)), value: Int32(id))
            } else {
                try tokens.insert(text, value: Int32(id))
            }
        }
        (self.tokens, self.beginnings) = (tokens, beginnings)
        self.unknown = unknown
        lowercases = description.normalizerLowercase ?? true
        stripsAccents = description.normalizerStripAccents ?? lowercases
        isNormalized = description.rules != nil
        maximumWordLength = description.rules?.maximumWordLength
    }

    func encode(_ bytes: UnsafeBufferPointer<UInt8>, into ids: inout [Int32]) {
        var word = spaceSymbol
        func endWord() {
            if word.count > spaceSymbol.count { word.withUnsafeBufferPointer { encode(word: $0, into: &ids) } }
            word.removeSubrange(spaceSymbol.count...)
        }
        let table = CharacterTable.unicode
        var position = 0
        while position < bytes.count {
            let (value, length) = decodeScalar(bytes, at: position)
            position += length
            if isNormalized {
                let kind = value.map { table[$0] } ?? .other
                if kind.meets(.whitespace) {
                    endWord()
                } else {
                    let stands = kind.meets(.punctuation) || (value.map { $0 < 0x80 } ?? false) && kind.meets(.symbol)
                    if stands { endWord() }
                    word += bytes[position - length..<position]
                    if stands { endWord() }
                }
                continue
            }
            guard let value, value != 0, value != 0xFFFD, var scalar = Unicode.Scalar(value) else { continue }
            if stripsAccents, value >= 0x80 { scalar = Self.base(scalar) }
            let kind = table[scalar.value]
            if kind.meets(.whitespace) {
                endWord()
            } else if !Self.isControl(scalar, kind), !(stripsAccents && kind.meets(.mark)) {
                let stands = Self.standsAlone(scalar, kind)
                if stands { endWord() }
                let letter = lowercases ? scalar.properties.lowercaseMapping.unicodeScalars.first ?? scalar : scalar
                word += UTF8.encode(letter) ?? UTF8.encodedReplacementCharacter
                if stands { endWord() }
            }
        }
        endWord()
    }

    private func encode(word: UnsafeBufferPointer<UInt8>, into ids: inout [Int32]) {
        let start = ids.count
        var position = 0
        if let maximumWordLength {
            // The "▁" in front does not count.
            let length = word.reduce(-1) { UTF8.isContinuation($1) ? $0 : $0 + 1 }
            guard length <= maximumWordLength else {
                if let unknown { ids.append(unknown) }
                return
            }
        }
        if isNormalized {
            position = spaceSymbol.count
            if let match = beginnings.longestPrefix(of: word[position...]) {
                ids.append(match.value)
                position += match.length
            } else {
                if let unknown { ids.append(unknown) }
                return
            }
        }
        while position < word.count {
            guard let match = tokens.longestPrefix(of: word[position...]) else {
                ids.removeSubrange(start...)
                if let unknown { ids.append(unknown) }
                return
            }
            ids.append(match.value)
            position += match.length
        }
    }

    private static func standsAlone(_ scalar: Unicode.Scalar, _ kind: CharacterClass) -> Bool {
        kind.meets(.punctuation) || (scalar.isASCII && kind.meets(.symbol))
            || Normalization.ideographs.contains { $0.contains(scalar.value) }
    }

    private static func isControl(_ scalar: Unicode.Scalar, _ kind: CharacterClass) -> Bool {
        kind.meets(.other) && scalar.properties.generalCategory != .unassigned
    }

    /// The first scalar of the canonical decomposition: the letter without its accents.
    private static func base(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars.first ?? scalar
    }
}
