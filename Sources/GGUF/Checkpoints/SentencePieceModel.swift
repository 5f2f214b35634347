/// `tokenizer.model`: a SentencePiece vocabulary in the protocol buffers wire format. Field 1 of the model is repeated
/// and holds the pieces; in a piece, field 1 is the text, 2 the score and 3 the kind.
struct SentencePieceModel {
    struct Piece {
        let text: [UInt8]
        let score: Float
        /// 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 a byte.
        let kind: Int
    }

    private(set) var pieces: [Piece] = []

    init(_ bytes: [UInt8], path: String) throws(ModelFileError) {
        var message = ProtocolBuffer(bytes[...])
        while let field = message.next() {
            guard field.number == 1, case .bytes(let content) = field.value else { continue }
            var (text, score, kind): ([UInt8], Float, Int) = ([], 0, 1)
            var piece = ProtocolBuffer(content)
            while let field = piece.next() {
                switch (field.number, field.value) {
                case (1, .bytes(let value)): text = Array(value)
                case (2, .fixed32(let bits)): score = Float(bitPattern: bits)
                case (3, .varint(let value)): kind = Int(clamping: value)
                default: break
                }
            }
            guard !piece.isBroken, score.isFinite, (1...6).contains(kind) else {
                throw ModelFileError(
                    .malformed, "Piece \(pieces.count) of the SentencePiece vocabulary is malformed.", path: path)
            }
            pieces.append(Piece(text: text, score: score, kind: kind))
        }
        guard !message.isBroken, !pieces.isEmpty else {
            throw ModelFileError(.malformed, "Not a SentencePiece vocabulary: the file has no pieces.", path: path)
        }
    }
}

/// Iterates over the fields of a message.
private struct ProtocolBuffer {
    enum Value {
        case varint(UInt64), fixed32(UInt32), fixed64
        case bytes(ArraySlice<UInt8>)
    }

    private var rest: ArraySlice<UInt8>
    /// Whether the message is malformed.
    private(set) var isBroken = false

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> (number: UInt64, value: Value)? {
        guard !rest.isEmpty, let tag = varint() else { return nil }
        switch tag & 7 {
        case 0: if let value = varint() { return (tag >> 3, .varint(value)) }
        case 1: if take(8) != nil { return (tag >> 3, .fixed64) }
        case 2:
            if let length = varint(), length <= UInt64(rest.count), let content = take(Int(length)) {
                return (tag >> 3, .bytes(content))
            }
        case 5:
            if let bytes = take(4) {
                return (tag >> 3, .fixed32(bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }))
            }
        default: break
        }
        isBroken = true
        return nil
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) {
            guard let byte = rest.popFirst() else { break }
            value |= UInt64(byte & 0x7f) << UInt64(shift)
            if byte < 0x80 { return value }
        }
        isBroken = true
        return nil
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
