extension TextTokenizer {
    /// - Parameters:
    ///   - addSpecial: Whether to add the tokens that begin and end a sequence, if the model uses them.
    ///   - parseSpecial: Whether the text of a control token becomes that token. Only for trusted text: in a user's
    ///     text, `<|im_end|>` must remain ten characters. User-defined tokens are matched in either case.
    public func encode(_ text: String, addSpecial: Bool, parseSpecial: Bool) -> [Int32] {
        var text = text
        return text.withUTF8 { encode($0, addSpecial: addSpecial, parseSpecial: parseSpecial) }
    }

    /// Encodes bytes that may be invalid UTF-8. An invalid byte is split off like U+FFFD, but encoded as it is.
    public func encode(bytes: [UInt8], addSpecial: Bool, parseSpecial: Bool) -> [Int32] {
        bytes.withUnsafeBufferPointer { encode($0, addSpecial: addSpecial, parseSpecial: parseSpecial) }
    }

    /// - Parameter transform: Transforms text between special tokens before it is encoded; `nil`: unchanged.
    func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, addSpecial: Bool, parseSpecial: Bool,
        transform: ((UnsafeBufferPointer<UInt8>) -> [UInt8]?)? = nil
    ) -> [Int32] {
        var ids: [Int32] = []
        ids.reserveCapacity(bytes.count / 4 + 2)
        if addSpecial, addsBeginningOfSequence, let id = beginningOfSequence { ids.append(id) }
        if let published {
            published.pieces(of: bytes, parseSpecial: parseSpecial, transform) { piece in
                switch piece {
                case .token(let id): ids.append(id)
                case .text(let text): encode(text, isAfterText: true, into: &ids)
                }
            }
            if addSpecial, let id = closing { ids.append(id) }
            return ids
        }
        var isAfterText = false
        for fragment in special.fragments(of: bytes, parseSpecial: parseSpecial) {
            switch fragment {
            case .token(let id):
                ids.append(id)
                isAfterText = false
            case .text(let range):
                let text = UnsafeBufferPointer(rebasing: bytes[range])
                if let transformed = transform?(text) {
                    transformed.withUnsafeBufferPointer { encode($0, isAfterText: isAfterText, into: &ids) }
                } else {
                    encode(text, isAfterText: isAfterText, into: &ids)
                }
                isAfterText = true
            }
        }
        if addSpecial, let id = closing { ids.append(id) }
        return ids
    }

    /// Encodes a pair of texts with the model's special tokens around and between them, for BERT `[CLS] first [SEP]
    /// second [SEP]`. Control tokens in the texts are encoded as text.
    public func encodePair(_ first: String, _ second: String) -> [Int32] {
        var ids: [Int32] = []
        if addsBeginningOfSequence, let id = beginningOfSequence { ids.append(id) }
        ids += encode(first, addSpecial: false, parseSpecial: false)
        if addsEndOfSequence, let id = endOfSequence { ids.append(id) }
        if addsSeparator, let id = vocabulary.separator { ids.append(id) }
        ids += encode(second, addSpecial: false, parseSpecial: false)
        if let id = closing { ids.append(id) }
        return ids
    }

    /// The token that ends an encoded sequence: for BERT the separator.
    private var closing: Int32? {
        if case .wordPiece = algorithm { return vocabulary.separator }
        return addsEndOfSequence ? endOfSequence : nil
    }

    private func encode(_ bytes: UnsafeBufferPointer<UInt8>, isAfterText: Bool, into ids: inout [Int32]) {
        switch algorithm {
        case .bytePair(let encoder): encoder.encode(bytes, into: &ids)
        case .sentencePiece(let encoder):
            encoder.encode(bytes, prefix: addsSpacePrefix && !isAfterText, into: &ids)
        case .wordPiece(let encoder): encoder.encode(bytes, into: &ids)
        case .unigram(let encoder):
            if published != nil {
                encoder.encode(normalized: bytes, into: &ids)
            } else {
                encoder.encode(bytes, addsSpacePrefix: addsSpacePrefix, into: &ids)
            }
        }
    }
}
