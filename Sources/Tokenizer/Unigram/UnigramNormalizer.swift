/// SentencePiece's normalization: replacements from a compiled map, then spaces.
struct UnigramNormalizer: Sendable {
    /// User-defined tokens, which are not normalized.
    private var protected = ByteTrie()
    private let map: CharacterMap
    private let mergesSpaces: Bool

    init(_ description: TokenizerDescription, _ kinds: [TokenKind]) throws(TokenizerError) {
        map = try CharacterMap(description.precompiledCharsmap ?? [])
        mergesSpaces = description.removeExtraWhitespaces ?? false
        for (id, kind) in kinds.enumerated() where kind.contains(.userDefined) && !description.tokens[id].isEmpty {
            try protected.insert(description.tokens[id], value: Int32(id))
        }
    }

    func normalize(_ bytes: UnsafeBufferPointer<UInt8>, addsSpacePrefix: Bool) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + bytes.count / 2)
        var isInWord = false
        var hasPrefix = false
        func append(_ byte: UInt8) {
            guard byte != UInt8(ascii: " ") else {
                isInWord = false
                if !mergesSpaces { result += spaceSymbol }
                return
            }
            if !isInWord {
                isInWord = true
                if mergesSpaces || (addsSpacePrefix && !hasPrefix) {
                    result += spaceSymbol
                    hasPrefix = true
                }
            }
            result.append(byte)
        }
        var position = 0
        while position < bytes.count {
            if let token = protected.longestPrefix(of: bytes[position...]) {
                for byte in bytes[position..<position + token.length] { append(byte) }
                position += token.length
            } else if let (length, replacement) = map.replacement(for: bytes[position...]) {
                for byte in replacement { append(byte) }
                position += length
            } else {
                let (scalar, length) = decodeScalar(bytes, at: position)
                if scalar == nil {
                    for byte in [0xEF, 0xBF, 0xBD] as [UInt8] { append(byte) }  // U+FFFD
                } else {
                    for byte in bytes[position..<position + length] { append(byte) }
                }
                position += length
            }
        }
        return result
    }
}
