/// Text from token ids that arrive one by one.
///
/// A token may end within a character. What is not yet whole is held back, so the pieces together are the text that all
/// ids have together, and none of them shows U+FFFD for a character that is still to come.
public struct StreamingDecoder: Sendable {
    private let tokenizer: TextTokenizer
    /// Control tokens that are written as their text.
    private let shown: Set<Int32>
    private var pending: [UInt8] = []
    private var takesLeadingSpace: Bool

    /// - Parameters:
    ///   - continuesText: Whether the ids go on with a text, so that a space before the first of them is the
    ///     text's own. Otherwise they begin one, and the space that a SentencePiece model puts before it is left out.
    ///   - shown: Control tokens to write as their text, which is otherwise left out.
    public init(_ tokenizer: TextTokenizer, continuesText: Bool = false, showing shown: Set<Int32> = []) {
        self.tokenizer = tokenizer
        self.shown = shown
        takesLeadingSpace = tokenizer.showsSpacePrefix && !continuesText
    }

    /// The text that becomes whole with this token; often empty.
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

    /// What is still held back, as U+FFFD.
    public mutating func finish() -> String {
        defer { pending = [] }
        return String(decoding: pending, as: UTF8.self)
    }

    /// How many of the last bytes are the beginning of a character that more bytes could complete.
    private static func incompleteSuffix(_ bytes: [UInt8]) -> Int {
        for length in 1...3 where length <= bytes.count {
            let lead = bytes[bytes.count - length]
            guard lead & 0xC0 != 0x80 else { continue }
            let need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1
            guard length < need else { return 0 }
            // If the lowest or the highest continuation makes it valid, it is a beginning.
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
