extension TextTokenizer {
    /// The text of the ids; what is not valid UTF-8 becomes U+FFFD. An id that is no token is nothing.
    ///
    /// Where the model encodes text as if a space stood before it, that space is taken off again.
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

    /// Whether the first token of a text has a space that the text has not.
    var showsSpacePrefix: Bool {
        if case .wordPiece = algorithm { return true }
        return addsSpacePrefix
    }

    /// What a token stands for; it need not be whole UTF-8. Empty for control tokens unless asked for, and for an id
    /// that is no token.
    public func bytes(of id: Int32, includingControl: Bool = false) -> [UInt8] {
        guard id >= 0, id < vocabularySize, includingControl || !isControl(id) else { return [] }
        return Array(texts[Int(id)])
    }

    /// Control tokens whose text is part of one of these.
    public func controlTokens(in texts: [String]) -> Set<Int32> {
        let texts = texts.map { Array($0.utf8) }
        return Set(
            (0..<Int32(vocabularySize)).filter { id in
                guard isControl(id) else { return false }
                let token = bytes(of: id, includingControl: true)
                return !token.isEmpty && texts.contains { $0.firstRange(of: token) != nil }
            })
    }

    /// Whether the token is not text: a control token, or the one for what is unknown.
    public func isControl(_ id: Int32) -> Bool { vocabulary.kind(id).isParsedOnRequest }

    public func isEndOfGeneration(_ id: Int32) -> Bool { endOfGeneration.contains(id) }
}
