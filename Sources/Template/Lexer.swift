/// Splits a template like Jinja2 3.1 with `trim_blocks`, `lstrip_blocks` and without `keep_trailing_newline`.
struct Lexer {
    let source: [Unicode.Scalar]
    var position = 0
    var line = 1
    var tokens: [TemplateToken] = []
    /// Expected closing brackets; inside brackets, `}}` and `%}` do not end the tag.
    private var brackets: [Unicode.Scalar] = []
    /// Whether the last token ended a line, so that blanks before the next tag are removed.
    var isLineStart = true

    static func tokenize(_ source: String) throws(TemplateError) -> [TemplateToken] {
        var lexer = Lexer(source)
        try lexer.readTemplate()
        return lexer.tokens
    }

    private init(_ source: String) {
        var scalars: [Unicode.Scalar] = []
        scalars.reserveCapacity(source.utf8.count)
        var previous: Unicode.Scalar = " "
        for scalar in source.unicodeScalars {
            if scalar == "\r" {
                scalars.append("\n")
            } else if scalar != "\n" || previous != "\r" {
                scalars.append(scalar)
            }
            previous = scalar
        }
        if scalars.last == "\n" { scalars.removeLast() }
        self.source = scalars
    }

    enum Tag { case output, block, comment, raw(end: Int) }

    mutating func readTemplate() throws(TemplateError) {
        while position < source.count {
            let start = position
            guard let (tag, at) = nextTag() else {
                emitText(start..<source.count)
                break
            }
            position = at + 2
            let sign = readSign()
            if case .raw(let end) = tag {
                emitText(start..<at, before: sign, canStripBlanks: true)
                countLines(at..<end)
                advance(to: end)
                try readRaw()
                continue
            }
            var canStripBlanks = true
            if case .output = tag { canStripBlanks = false }
            emitText(start..<at, before: sign, canStripBlanks: canStripBlanks)
            isLineStart = false
            switch tag {
            case .comment: try skipComment()
            case .output: try readTag(.outputBegin, .outputEnd, close: "}")
            case .block, .raw: try readTag(.blockBegin, .blockEnd, close: "%")
            }
        }
        tokens.append(TemplateToken(kind: .end, text: "", line: line))
    }

    func nextTag() -> (Tag, Int)? {
        var at = position
        while at + 1 < source.count {
            if source[at] == "{" {
                switch source[at + 1] {
                case "{": return (.output, at)
                case "#": return (.comment, at)
                case "%":
                    if let end = rawTag(at) { return (.raw(end: end), at) }
                    return (.block, at)
                default: break
                }
            }
            at += 1
        }
        return nil
    }

    /// End of the `{% raw %}` tag at `at`; nil if there is none.
    func rawTag(_ at: Int) -> Int? {
        var end = skipBlanks(skipSign(at + 2))
        guard matches("raw", at: end) else { return nil }
        end = skipBlanks(end + 3)
        if matches("-%}", at: end) { return skipBlanks(end + 3) }
        return matches("%}", at: end) ? end + 2 : nil
    }

    mutating func readRaw() throws(TemplateError) {
        let start = position
        var at = start
        while at + 1 < source.count {
            if source[at] == "{", source[at + 1] == "%" {
                let name = skipBlanks(skipSign(at + 2))
                if matches("endraw", at: name), let end = blockEnd(skipBlanks(name + 6)) {
                    position = at + 2
                    emitText(start..<at, before: readSign(), canStripBlanks: true)
                    countLines(at..<end)
                    advance(to: end)
                    return
                }
            }
            at += 1
        }
        throw TemplateError(.syntax, line: line, "missing end of raw directive: {% endraw %}")
    }

    mutating func skipComment() throws(TemplateError) {
        var at = position
        if at == source.count { return }  // Jinja2 accepts a template that ends here
        while at < source.count {
            if source[at] == "#" || source[at] == "+" || source[at] == "-", let end = tagEnd(at, close: "#") {
                countLines(position..<end)
                advance(to: end)
                return
            }
            at += 1
        }
        throw TemplateError(.syntax, line: line, "missing end of comment tag: #}")
    }

    mutating func readTag(_ begin: TemplateToken.Kind, _ end: TemplateToken.Kind, close: Unicode.Scalar)
        throws(TemplateError)
    {
        tokens.append(TemplateToken(kind: begin, text: "", line: line))
        brackets.removeAll()
        while position < source.count {
            if brackets.isEmpty, let next = close == "%" ? blockEnd(position) : outputEnd(position) {
                tokens.append(TemplateToken(kind: end, text: "", line: line))
                countLines(position..<next)
                advance(to: next)
                return
            }
            try readToken()
        }
        throw TemplateError(.syntax, line: line, "the tag is never closed: expected '\(close == "%" ? "%}" : "}}")'")
    }
}

// MARK: - Inside a tag

extension Lexer {
    mutating func readToken() throws(TemplateError) {
        let scalar = source[position]
        if scalar.isPythonSpace {
            if scalar == "\n" { line += 1 }
            position += 1
        } else if let digit = scalar.properties.numericType, digit == .decimal, scalar.isASCII {
            readNumber()
        } else if scalar.isIdentifierPart {
            try readName()
        } else if scalar == "'" || scalar == "\"" {
            try readString(quote: scalar)
        } else {
            try readSymbol()
        }
    }

    mutating func readName() throws(TemplateError) {
        let start = position
        while position < source.count, source[position].isIdentifierPart { position += 1 }
        guard source[start] == "_" || source[start].properties.isXIDStart else {
            throw TemplateError(.syntax, line: line, "invalid character in identifier")
        }
        tokens.append(TemplateToken(kind: .name, text: String(source[start..<position]), line: line))
    }

    mutating func readNumber() {
        let start = position
        if let end = floatEnd() {
            position = end
            appendNumber(.float, start)
            return
        }
        if source[start] == "0" {
            let prefix = start + 1 < source.count ? source[start + 1] : " "
            let end: Int? =
                switch prefix {
                case "x", "X": digits(from: start + 2, mayStartWithUnderscore: true, where: \.isHexDigit)
                case "o", "O": digits(from: start + 2, mayStartWithUnderscore: true) { $0 >= "0" && $0 <= "7" }
                case "b", "B": digits(from: start + 2, mayStartWithUnderscore: true) { $0 == "0" || $0 == "1" }
                default: nil
                }
            position = end ?? digits(from: start) { $0 == "0" } ?? start + 1
        } else {
            position = digits(from: start, where: \.isASCIIDigit) ?? start + 1
        }
        appendNumber(.integer, start)
    }

    mutating func appendNumber(_ kind: TemplateToken.Kind, _ start: Int) {
        tokens.append(
            TemplateToken(kind: kind, text: String(source[start..<position].filter { $0 != "_" }), line: line))
    }

    func floatEnd() -> Int? {
        if position > 0, source[position - 1] == "." { return nil }
        guard var end = digits(from: position, where: \.isASCIIDigit) else { return nil }
        var isFloat = false
        if end < source.count, source[end] == ".", let fraction = digits(from: end + 1, where: \.isASCIIDigit) {
            end = fraction
            isFloat = true
        }
        if end < source.count, source[end] == "e" || source[end] == "E" {
            let exponent = digits(from: skipSign(end + 1), where: \.isASCIIDigit)
            if let exponent { return exponent }
        }
        return isFloat ? end : nil
    }

    /// End of a run of digits with optional single underscores between them.
    func digits(
        from start: Int, mayStartWithUnderscore: Bool = false, where isDigit: (Unicode.Scalar) -> Bool
    ) -> Int? {
        var end = start
        var canSkip = mayStartWithUnderscore
        while end < source.count {
            if isDigit(source[end]) {
                end += 1
            } else if canSkip, source[end] == "_", end + 1 < source.count, isDigit(source[end + 1]) {
                end += 2
            } else {
                break
            }
            canSkip = true
        }
        return end > start ? end : nil
    }

    mutating func readString(quote: Unicode.Scalar) throws(TemplateError) {
        let startLine = line
        var end = position + 1
        while end < source.count, source[end] != quote {
            end += source[end] == "\\" ? 2 : 1
        }
        guard end < source.count else {
            throw TemplateError(.syntax, line: startLine, "the string is never closed: expected \(quote)")
        }
        let value = try StringLiteral.unescape(source[(position + 1)..<end], line: startLine)
        tokens.append(TemplateToken(kind: .string, text: value, line: startLine))
        countLines(position..<end)
        position = end + 1
    }

    mutating func readSymbol() throws(TemplateError) {
        for symbol in ["**", "//", "==", "!=", ">=", "<="] as [StaticString] where matches(symbol, at: position) {
            tokens.append(TemplateToken(kind: .symbol, text: "\(symbol)", line: line))
            position += 2
            return
        }
        let scalar = source[position]
        switch scalar {
        case "(": brackets.append(")")
        case "[": brackets.append("]")
        case "{": brackets.append("}")
        case ")", "]", "}":
            guard let expected = brackets.popLast() else {
                throw TemplateError(.syntax, line: line, "unexpected '\(scalar)'")
            }
            guard expected == scalar else {
                throw TemplateError(.syntax, line: line, "unexpected '\(scalar)', expected '\(expected)'")
            }
        case "+", "-", "*", "/", "%", "~", "<", ">", "=", ".", ":", "|", ",", ";": break
        default: throw TemplateError(.syntax, line: line, "unexpected character '\(scalar)'")
        }
        tokens.append(TemplateToken(kind: .symbol, text: String(scalar), line: line))
        position += 1
    }
}
