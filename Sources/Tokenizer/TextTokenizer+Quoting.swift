// What a message carries is text, also where it looks like a control token. But a chat template puts its own control
// tokens and the messages into one string, after trimming, cutting and joining them as it likes. So the messages are
// quoted before: in what looks like a control token, every character is set apart by a mark. The mark is one of Unicode's
// last characters for private use, which templates carry along like any other. Tokenizing what was rendered finds the
// template's own control tokens, whose characters stand together, and drops the marks.

private let markScalar: Unicode.Scalar = "\u{10FFFC}"
/// Comes before a letter that stands for the mark, or for this itself, in the text that is quoted.
private let escapeScalar: Unicode.Scalar = "\u{10FFFD}"
private let mark = Array(String(markScalar).utf8)
private let escape = Array(String(escapeScalar).utf8)
/// First byte of both in UTF-8, and of few other characters.
private let firstByte: UInt8 = 0xF4

extension TextTokenizer {
    /// A text for a chat template to carry, in whose result `encode(quoted:)` will find no control token of it.
    ///
    /// Takes time and memory in proportion to the text: at most five bytes for each of its bytes, and some more for
    /// each control token.
    public func quote(_ text: String) -> String {
        var text = text
        let result: [UInt8]? = text.withUTF8 { bytes in
            if !bytes.contains(firstByte) { return quoted(bytes) }
            let escaped = Self.escaped(bytes)
            return escaped.withUnsafeBufferPointer { quoted($0) ?? escaped }
        }
        return result.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// `nil` where the text holds no control token.
    private func quoted(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let ranges = special.matches(in: bytes, parseSpecial: true)
            .filter { vocabulary.kinds[Int($0.id)].isParsedOnRequest }.map(\.range)
        guard !ranges.isEmpty else { return nil }
        let scalars = ranges.reduce(0) { $0 + $1.count + 1 }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + mark.count * scalars)
        var position = 0
        for range in ranges {
            result += bytes[position..<range.lowerBound]
            for byte in bytes[range] {
                // A token of a hostile file may begin or end within a character, which stays whole.
                if !UTF8.isContinuation(byte) { result += mark }
                result.append(byte)
            }
            position = range.upperBound
            while position < bytes.count, UTF8.isContinuation(bytes[position]) {
                result.append(bytes[position])
                position += 1
            }
            result += mark
        }
        result += bytes[position...]
        return result
    }

    /// The tokens of a rendered template whose messages were quoted.
    public func encode(quoted text: String) -> [Int32] {
        var text = text
        return text.withUTF8 { encode($0, addSpecial: false, parseSpecial: true, transform: Self.unquoted) }
    }

    private static func escaped(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            if isAt(position, mark, bytes) {
                result += escape + [UInt8(ascii: "m")]
                position += mark.count
            } else if isAt(position, escape, bytes) {
                result += escape + [UInt8(ascii: "e")]
                position += escape.count
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return result
    }

    /// `nil` for text without marks, as nearly all is.
    private static func unquoted(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard bytes.contains(firstByte) else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            if isAt(position, escape, bytes) {
                position += escape.count
                guard position < bytes.count else { break }
                result += bytes[position] == UInt8(ascii: "m") ? mark : escape
                // A template may have changed the letter to a longer character, which goes as a whole.
                position += 1
                while position < bytes.count, UTF8.isContinuation(bytes[position]) { position += 1 }
            } else if isAt(position, mark, bytes) {
                position += mark.count
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return result
    }

    private static func isAt(_ position: Int, _ scalar: [UInt8], _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes[position] == firstByte && position + scalar.count <= bytes.count
            && (1..<scalar.count).allSatisfy { bytes[position + $0] == scalar[$0] }
    }
}
