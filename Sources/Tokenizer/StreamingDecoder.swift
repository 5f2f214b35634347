/// Decodes token IDs that arrive one by one.
///
/// A token may end within a character. Incomplete characters are held back, so the concatenated pieces equal the text
/// of all IDs together, without U+FFFD for a character that is still incomplete.
public struct StreamingDecoder: Sendable {
    private let tokenizer: TextTokenizer
    /// Control tokens whose text is included.
    private let shown: Set<Int32>
    private var pending: [UInt8] = []
    private var takesLeadingSpace: Bool

    /// - Parameters:
    ///   - continuesText: Whether the IDs continue a text, so that a space before the first word is kept. Otherwise the
    ///     space that a SentencePiece model puts first is removed.
    ///   - shown: Control tokens whose text is included; others are omitted.
    public init(_ tokenizer: TextTokenizer, continuesText: Bool = false, showing shown: Set<Int32> = []) {
        self.tokenizer = tokenizer
        self.shown = shown
        takesLeadingSpace = tokenizer.showsSpacePrefix && !continuesText
    }

    /// The text that this token completes; often empty.
    public mutating func decode(_ id: Int32) -> String {
        var bytes = tokenizer.bytes(of: id, includingControl: shown.contains(id))
        if takesLeadingSpace, !bytes.isEmpty, !tokenizer.isControl(id) {
            takesLeadingSpace = false
            if bytes.first == UInt8(ascii: " ") { bytes.removeFirst() }
        }
        pending += bytes
        let whole = pending.count - Self.incompleteSuffix(pending)
        let text = String(decoding: pending[..<whole], as: UTF8.self)
        pending.removeFirst(whole)
        return text
    }

    /// The text held back, with U+FFFD for an incomplete character.
    public mutating func finish() -> String {
        defer { pending = [] }
        return String(decoding: pending, as: UTF8.self)
    }

    /// Length of the suffix that is the beginning of a character.
    private static func incompleteSuffix(_ bytes: [UInt8]) -> Int {
        for length in 1...3 where length <= bytes.count {
            let lead = bytes[bytes.count - length]
            guard lead & 0xC0 != 0x80 else { continue }
            let need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1
            guard length < need else { return 0 }
            // Incomplete if the lowest or the highest continuation bytes would make it valid.
            let start = Array(bytes.suffix(length))
            return [0x80, 0xBF].contains { filler in
                (start + Array(repeating: filler, count: need - length)).withUnsafeBufferPointer {
                    decodeScalar($0, at: 0).scalar != nil
                }
            } ? length : 0
        }
        return 0
    }
}
