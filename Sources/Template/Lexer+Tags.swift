extension Lexer {
    func blockEnd(_ at: Int) -> Int? { tagEnd(at, close: "%") }

    /// End of a tag: `+%}` keeps the following text, `-%}` removes all white space, `%}` removes one newline. Likewise
    /// for comments.
    func tagEnd(_ at: Int, close: Unicode.Scalar) -> Int? {
        guard at < source.count else { return nil }
        switch source[at] {
        case "+" where isClosing(at + 1, close): return at + 3
        case "-" where isClosing(at + 1, close): return skipBlanks(at + 3)
        case close where isClosing(at, close):
            let end = at + 2
            return end < source.count && source[end] == "\n" ? end + 1 : end
        default: return nil
        }
    }

    func outputEnd(_ at: Int) -> Int? {
        if matches("-}}", at: at) { return skipBlanks(at + 3) }
        return matches("}}", at: at) ? at + 2 : nil
    }

    func isClosing(_ at: Int, _ close: Unicode.Scalar) -> Bool {
        at + 1 < source.count && source[at] == close && source[at + 1] == "}"
    }

    func matches(_ text: StaticString, at: Int) -> Bool {
        guard at + text.utf8CodeUnitCount <= source.count else { return false }
        return text.withUTF8Buffer { bytes in
            bytes.indices.allSatisfy { source[at + $0].value == UInt32(bytes[$0]) }
        }
    }

    func skipBlanks(_ at: Int) -> Int {
        var at = at
        while at < source.count, source[at].isPythonSpace { at += 1 }
        return at
    }

    func skipSign(_ at: Int) -> Int {
        at < source.count && (source[at] == "-" || source[at] == "+") ? at + 1 : at
    }

    mutating func readSign() -> Unicode.Scalar? {
        let start = position
        position = skipSign(position)
        return position > start ? source[start] : nil
    }

    /// Ends a match at `end`; the rest is at the start of a line if the match ended with a newline.
    mutating func advance(to end: Int) {
        position = end
        isLineStart = end > 0 && source[end - 1] == "\n"
    }

    mutating func countLines(_ range: Range<Int>) {
        for at in range where source[at] == "\n" { line += 1 }
    }

    mutating func emitText(_ range: Range<Int>, before sign: Unicode.Scalar?, canStripBlanks: Bool) {
        var end = range.upperBound
        if sign == "-" {
            while end > range.lowerBound, source[end - 1].isPythonSpace { end -= 1 }
        } else if sign == nil, canStripBlanks {
            var lineStart = end
            while lineStart > range.lowerBound, source[lineStart - 1] != "\n" { lineStart -= 1 }
            if lineStart > range.lowerBound || isLineStart,
                source[lineStart..<end].allSatisfy(\.isPythonSpace)
            {
                end = lineStart
            }
        }
        emitText(range.lowerBound..<end)
        countLines(end..<range.upperBound)
    }

    mutating func emitText(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        tokens.append(TemplateToken(kind: .text, text: String(source[range]), line: line))
        countLines(range)
    }
}
