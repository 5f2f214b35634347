extension TextTokenizer {
    /// - Parameters:
    ///   - addSpecial: Whether the tokens that begin and end a sequence are added, as far as the model wants them.
    ///   - parseSpecial: Whether the text of a control token becomes that token. Only for text that is trusted: in what
    ///     a user writes, `<|im_end|>` is eleven characters. User-defined tokens are found in either case.
    public func encode(_ text: String, addSpecial: Bool, parseSpecial: Bool) -> [Int32] {
        var text = text
        return text.withUTF8 { encode($0, addSpecial: addSpecial, parseSpecial: parseSpecial) }
    }

    /// Encodes bytes that may not be valid UTF-8. An invalid byte is cut off like U+FFFD would be, and kept.
    public func encode(bytes: [UInt8], addSpecial: Bool, parseSpecial: Bool) -> [Int32] {
        bytes.withUnsafeBufferPointer { encode($0, addSpecial: addSpecial, parseSpecial: parseSpecial) }
    }

    /// - Parameter transform: What text between special tokens becomes before it is encoded; `nil` leaves it as it is.
    func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, addSpecial: Bool, parseSpecial: Bool,
        transform: (UnsafeBufferPointer<UInt8>) -> [UInt8]? = { _ in nil }
    ) -> [Int32] {
        var ids: [Int32] = []
        ids.reserveCapacity(bytes.count / 4 + 2)
        if addSpecial, addsBeginningOfSequence, let id = beginningOfSequence { ids.append(id) }
        var isAfterText = false
        for fragment in special.fragments(of: bytes, parseSpecial: parseSpecial) {
            switch fragment {
            case .token(let id):
                ids.append(id)
                isAfterText = false
            case .text(let range):
                let text = UnsafeBufferPointer(rebasing: bytes[range])
                if let transformed = transform(text) {
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

    /// Two texts as one sequence, with the special tokens around and between them that the model wants: for BERT
    /// `[CLS] first [SEP] second [SEP]`. Control tokens in the texts are text.
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

    /// What ends an encoded sequence: for BERT the separator.
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
        case .unigram(let encoder): encoder.encode(bytes, addsSpacePrefix: addsSpacePrefix, into: &ids)
        }
    }
}
