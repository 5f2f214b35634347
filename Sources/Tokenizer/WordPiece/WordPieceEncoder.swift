import Foundation

/// BERT's WordPiece: splits each word greedily into the longest tokens. A word that cannot be split becomes the unknown
/// token.
///
/// GGUF files mark the beginning of a word ("▁word"), where BERT's own vocabularies mark its continuation ("##ing").
struct WordPieceEncoder: Sendable {
    private let tokens: ByteTrie
    private let unknown: Int32?
    private let lowercases: Bool
    private let stripsAccents: Bool

    init(_ description: TokenizerDescription, unknown: Int32?) throws(TokenizerError) {
        var tokens = ByteTrie()
        for (id, text) in description.tokens.enumerated() where !text.isEmpty {
            try tokens.insert(text, value: Int32(id))
        }
        self.tokens = tokens
        self.unknown = unknown
        lowercases = description.normalizerLowercase ?? true
        stripsAccents = description.normalizerStripAccents ?? lowercases
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
            || ideographs.contains { $0.contains(scalar.value) }
    }

    private static func isControl(_ scalar: Unicode.Scalar, _ kind: CharacterClass) -> Bool {
        kind.meets(.other) && scalar.properties.generalCategory != .unassigned
    }

    /// The first scalar of the canonical decomposition: the letter without its accents.
    private static func base(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars.first ?? scalar
    }

    /// The ranges that BERT's tokenizer treats as Chinese characters.
    private static let ideographs: [ClosedRange<UInt32>] = [
        0x4E00...0x9FFF, 0x3400...0x4DBF, 0x20000...0x2A6DF, 0x2A700...0x2B73F, 0x2B740...0x2B81F, 0x2B920...0x2CEAF,
        0xF900...0xFAFF, 0x2F800...0x2FA1F,
    ]
}
