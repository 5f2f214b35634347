// What a message carries is text, also where it looks like a control token. But a chat template puts its own control
// tokens and the messages into one string, after trimming, cutting and joining them as it likes. So the messages are
// quoted before: in what looks like a control token, every character is set apart by a mark. The mark is one of Unicode's
// last characters for private use, which templates carry along like any other. Tokenizing what was rendered finds the
// template's own control tokens, whose characters stand together, and drops the marks.

private let mark: Unicode.Scalar = "\u{10FFFC}"
/// Comes before a letter that stands for the mark, or for this itself, in the text that is quoted.
private let escape: Unicode.Scalar = "\u{10FFFD}"
/// Of both in UTF-8, and of few other characters.
private let firstByte: UInt8 = 0xF4

extension TextTokenizer {
    /// A text for a chat template to carry, in whose result `encode(quoted:)` will find no control token of it.
    public func quote(_ text: String) -> String {
        var text = text
        if text.utf8.contains(firstByte) { text = Self.escaped(text) }
        let ranges = text.withUTF8 { bytes in
            special.matches(in: bytes, parseSpecial: true).filter { vocabulary.kinds[Int($0.id)].isParsedOnRequest }
                .map(\.range)
        }
        guard !ranges.isEmpty else { return text }
        var quoted = String.UnicodeScalarView()
        var position = text.startIndex
        for range in ranges {
            let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
            let end = text.utf8.index(start, offsetBy: range.count)
            quoted += text.unicodeScalars[position..<start]
            for scalar in text.unicodeScalars[start..<end] { quoted += [mark, scalar] }
            quoted.append(mark)
            position = end
        }
        return String(quoted + text.unicodeScalars[position...])
    }

    /// The tokens of a rendered template whose messages were quoted.
    public func encode(quoted text: String) -> [Int32] {
        var text = text
        return text.withUTF8 { encode($0, addSpecial: false, parseSpecial: true, transform: Self.unquoted) }
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case mark: result.unicodeScalars += [escape, "m"]
            case escape: result.unicodeScalars += [escape, "e"]
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    /// `nil` for text without marks, as nearly all is.
    private static func unquoted(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard bytes.contains(firstByte) else { return nil }
        var result = ""
        var isEscaped = false
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if isEscaped {
                result.unicodeScalars.append(scalar == "m" ? mark : escape)
                isEscaped = false
            } else if scalar == escape {
                isEscaped = true
            } else if scalar != mark {
                result.unicodeScalars.append(scalar)
            }
        }
        return Array(result.utf8)
    }
}
