extension TextTokenizer {
    /// The text of the IDs. Invalid UTF-8 becomes U+FFFD; IDs outside the vocabulary are ignored.
    ///
    /// If the model encodes text with a space in front, that space is removed.
    public func decode(_ ids: [Int32], includingControl: Bool = false) -> String {
        var bytes: [UInt8] = []
        var isFirst = showsSpacePrefix
        for id in ids {
            var piece = self.bytes(of: id, includingControl: includingControl)
            if isFirst, !piece.isEmpty, !isControl(id) {
                if piece.first == UInt8(ascii: " ") { piece.removeFirst() }
                isFirst = false
            }
            bytes += piece
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the first token of a text includes an added space.
    var showsSpacePrefix: Bool {
        if case .wordPiece = algorithm { return true }
        if let published { return published.rules.stripsSpace }
        return addsSpacePrefix
    }

    /// The bytes of a token, which need not be whole UTF-8 characters. Empty for control tokens unless requested, and
    /// for IDs outside the vocabulary.
    public func bytes(of id: Int32, includingControl: Bool = false) -> [UInt8] {
        guard id >= 0, id < vocabularySize, includingControl || !isControl(id) else { return [] }
        return Array(texts[Int(id)])
    }

    /// Control tokens whose text occurs in one of these texts.
    public func controlTokens(in texts: [String]) -> Set<Int32> {
        let texts = texts.map { Array($0.utf8) }
        return Set(
            (0..<Int32(vocabularySize)).filter { id in
                guard isControl(id) else { return false }
                let token = bytes(of: id, includingControl: true)
                return !token.isEmpty && texts.contains { $0.firstRange(of: token) != nil }
            })
    }

    /// Whether the token is not text: a control token, or the unknown token.
    public func isControl(_ id: Int32) -> Bool { vocabulary.kind(id).isParsedOnRequest }

    /// Whether generation ends after this token.
    public func isEndOfGeneration(_ id: Int32) -> Bool { endOfGeneration.contains(id) }
}
