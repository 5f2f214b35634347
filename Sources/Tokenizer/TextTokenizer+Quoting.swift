// Message texts must never become control tokens, but a chat template combines its own control tokens and the messages
// into one string, and may trim, cut and join them. So messages are quoted before rendering: in text that looks like a
// control token, a mark is inserted between all characters. The mark is one of Unicode's last private-use characters,
// which templates treat like any other. Tokenizing the rendered text finds the template's own control tokens, which are
// contiguous, and removes the marks.

private let markScalar: Unicode.Scalar = "\u{10FFFC}"
/// Escapes occurrences of the mark and of this scalar itself in the quoted text.
private let escapeScalar: Unicode.Scalar = "\u{10FFFD}"
private let mark = Array(String(markScalar).utf8)
private let escape = Array(String(escapeScalar).utf8)
/// First UTF-8 byte of both scalars, and of few others.
private let firstByte: UInt8 = 0xF4

extension TextTokenizer {
    /// Quotes a text for rendering by a chat template, so that `encode(quoted:)` finds no control token in it.
    ///
    /// Takes linear time and memory: at most five bytes per byte of text, plus some per control token.
    public func quote(_ text: String) -> String {
        var text = text
        let result: [UInt8]? = text.withUTF8 { bytes in
            if !bytes.contains(firstByte) { return quoted(bytes) }
            let escaped = Self.escaped(bytes)
            return escaped.withUnsafeBufferPointer { quoted($0) ?? escaped }
        }
        return result.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    /// `nil` if the text contains no control token.
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
                // A token of a malicious file may begin or end within a character, which must not be split.
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

    /// The tokens of a rendered template with quoted messages.
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

    /// `nil` for text without marks, the common case.
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
                // A template may have changed the case of the letter, and with it its length; skip the whole character.
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
