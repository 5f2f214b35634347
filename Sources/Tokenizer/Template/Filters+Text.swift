import Foundation

extension Renderer {
    func textFilter(_ filter: Filter, _ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        switch filter {
        case .indent: return .string(try indent(value, arguments))
        case .truncate: return .string(try truncate(value, arguments))
        case .join:
            var items = try iterate(value)
            if let attribute = arguments[1].given {
                let path = try AttributePath(attribute, self)
                items = try items.map { (item) throws(TemplateError) in try path.get(item, missing: nil, self) }
            }
            return .string(try join(items, try string(arguments[0] ?? .string("")), onlyStrings: false))
        case .replace:
            let count = try arguments[2].given.map { (value) throws(TemplateError) in try integer(value, "count") }
            let (old, new) = (try string(arguments[0] ?? .null), try string(arguments[1] ?? .null))
            return .string(try replace(try string(value), old, new, count ?? -1))
        case .urlencode: return .string(try urlencode(value))
        case .xmlattr: return .string(try xmlattr(value, autospace: arguments[0]?.isTruthy ?? true))
        case .wordwrap: return .string(try wordwrap(try string(value, "wordwrap's value"), arguments))
        default: break
        }
        let text = try string(value)
        try charge(bytes: text.utf8.count)
        switch filter {
        case .string: return value.text == nil ? .string(text) : value
        case .lower: return .string(changeCase(.lower, text))
        case .upper: return .string(changeCase(.upper, text))
        case .capitalize: return .string(changeCase(.capitalize, text))
        case .title:
            try charge(text.utf8.count)  // scalar by scalar
            return .string(titled(text))
        case .trim: return .string(try strip(text, arguments[0], leading: true, trailing: true))
        case .center:
            let width = try arguments[0].map { (value) throws(TemplateError) in try integer(value, "width") } ?? 80
            return .string(try pad(text, to: width, with: " ", .center))
        case .wordcount:
            try charge(text.utf8.count)
            return .int(wordCount(text))
        case .safe: return .markup(text)
        case .escape, .e:
            if case .markup = value { return value }
            return .markup(try escaped(text))
        case .forceescape: return .markup(try escaped(text))
        case .striptags: return .string(stripTags(text))
        default: throw fail("the filter '\(filter.rawValue)' is not available in chat templates")
        }
    }

    func escaped(_ text: String) throws(TemplateError) -> String {
        // "&#34;" is five times as long as what it stands for.
        try charge(bytes: text.utf8.count * 5)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            case UInt8(ascii: "\""): bytes += "&#34;".utf8
            default: bytes.append(byte)
            }
        }
        return try checked(String(decoding: bytes, as: UTF8.self))
    }

    /// `|title`: words begin after `-`, blanks and opening brackets.
    private func titled(_ text: String) -> String {
        var result = ""
        var isStart = true
        for scalar in text.unicodeScalars {
            let isSeparator = scalar.isPythonSpace || "-({[<".unicodeScalars.contains(scalar)
            if isSeparator {
                result.unicodeScalars.append(scalar)
            } else {
                result += isStart ? scalar.properties.uppercaseMapping : scalar.properties.lowercaseMapping
            }
            isStart = isSeparator
        }
        return result
    }

    private func wordCount(_ text: String) -> Int {
        var count = 0
        var isInWord = false
        for scalar in text.unicodeScalars {
            let isWord = scalar.isPythonWord
            if isWord, !isInWord { count += 1 }
            isInWord = isWord
        }
        return count
    }

    /// Without comments and tags, blanks made single, the five escapes undone.
    private func stripTags(_ text: String) -> String {
        var text = text
        for (open, close) in [("<!--", "-->"), ("<", ">")] {
            var rest = text[...]
            var result = ""
            while let start = rest.range(of: open, options: .literal),
                let end = rest.range(of: close, options: .literal, range: start.lowerBound..<rest.endIndex)
            {
                result += rest[..<start.lowerBound]
                rest = rest[end.upperBound...]
            }
            text = result + rest
        }
        text = text.unicodeScalars.split(whereSeparator: \.isPythonSpace).map { String($0) }.joined(separator: " ")
        for (entity, character) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&#34;", "\""), ("&quot;", "\""), ("&amp;", "&"),
        ] {
            text = text.replacingOccurrences(of: entity, with: character, options: .literal)
        }
        return text
    }
}

// MARK: - Lines

extension Renderer {
    private func indent(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> String {
        let text = try string(value, "indent's value")
        let width = arguments[0] ?? .int(4)
        var indentation = width.text ?? ""
        if width.text == nil { indentation = try repeated(" ", try integer(width, "indent width")) }
        let isFirst = arguments[1]?.isTruthy ?? false
        let blank = arguments[2]?.isTruthy ?? false
        var lines = (text + "\n").pythonLines()
        let (growth, overflow) = indentation.utf8.count.multipliedReportingOverflow(by: lines.count)
        guard !overflow, growth <= limits.outputBytes else { throw fail("the indented text is too long", .limit) }
        try charge(bytes: text.utf8.count + growth)
        for index in lines.indices where index > 0 && (blank || !lines[index].isEmpty) {
            lines[index] = indentation + lines[index]
        }
        if isFirst { lines[0] = indentation + lines[0] }  // the added newline makes at least one line
        return try checked(lines.joined(separator: "\n"))
    }

    private func truncate(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> String {
        let text = try string(value, "truncate's value")
        let length = try integer(arguments[0] ?? .int(255), "length")
        let killWords = arguments[1]?.isTruthy ?? false
        let end = try string(arguments[2] ?? .string("..."), "end")
        let leeway = try integer(arguments[3].given ?? .int(5), "leeway")
        let endLength = end.unicodeScalars.count
        guard length >= endLength else { throw fail("expected length >= \(endLength), got \(length)") }
        guard leeway >= 0 else { throw fail("expected leeway >= 0, got \(leeway)") }
        try charge(bytes: text.utf8.count)
        let (limit, overflow) = length.addingReportingOverflow(leeway)
        if overflow || text.unicodeScalars.count <= limit { return text }
        let kept = String(text.unicodeScalars.prefix(length - endLength))
        if killWords { return kept + end }
        let words = kept.unicodeScalars
        return (words.lastIndex(of: " ").map { String(words[..<$0]) } ?? kept) + end
    }

    /// Lines of at most `width`, broken at blanks, then inside words.
    private func wordwrap(_ text: String, _ arguments: [Value?]) throws(TemplateError) -> String {
        let width = try integer(arguments[0] ?? .int(79), "width")
        guard width > 0 else { throw fail("invalid width \(width) (must be > 0)") }
        let breaksWords = arguments[1]?.isTruthy ?? true
        let newline =
            try arguments[2].given.map { (value) throws(TemplateError) in try string(value, "wrapstring") } ?? "\n"
        let breaksHyphens = arguments[3]?.isTruthy ?? true
        try charge(text.utf8.count)
        let wrapper = TextWrapper(width: width, breaksWords: breaksWords, breaksHyphens: breaksHyphens)
        let lines = text.pythonLines().map { wrapper.wrap($0) }
        return try join(
            lines.map { .string($0.joined(separator: newline)) }, newline, onlyStrings: true)
    }
}

// MARK: - URLs and attributes

extension Renderer {
    private func urlencode(_ value: Value) throws(TemplateError) -> String {
        if value.text != nil { return try percentEncoded(value, keeping: "/") }
        let pairs: [Value]
        if case .dict(let dict) = value {
            pairs = dict.entries.map { .tuple(Items([$0, $1])) }
        } else if let items = try elements(of: value) {
            pairs = items
        } else {
            return try percentEncoded(value, keeping: "/")
        }
        var parts: [String] = []
        for pair in pairs {
            let items = try iterate(pair)
            guard items.count == 2 else { throw fail("urlencode needs pairs of key and value") }
            let key = try percentEncoded(items[0], keeping: "").replacingOccurrences(of: "%20", with: "+")
            let value = try percentEncoded(items[1], keeping: "").replacingOccurrences(of: "%20", with: "+")
            parts.append("\(key)=\(value)")
        }
        return parts.joined(separator: "&")
    }

    private func percentEncoded(_ value: Value, keeping extra: String) throws(TemplateError) -> String {
        let text = try string(value)
        try charge(bytes: text.utf8.count * 3)
        var allowed = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
        allowed.insert(charactersIn: extra)
        guard let encoded = text.addingPercentEncoding(withAllowedCharacters: allowed) else {
            throw fail("the text cannot be encoded for a URL")
        }
        return encoded
    }

    private func xmlattr(_ value: Value, autospace: Bool) throws(TemplateError) -> String {
        guard case .dict(let dict) = value else { throw fail("xmlattr needs a mapping, not \(value.typeName)") }
        var parts: [String] = []
        for (key, value) in dict.entries where !value.isNone && !value.isUndefined {
            let name = try string(key, "attribute name")
            guard !name.utf8.contains(where: { " \t\n\r\u{0B}\u{0C}/>=".utf8.contains($0) }) else {
                throw fail("invalid character in attribute name: \(try repr(key))")
            }
            parts.append("\(try escaped(name))=\"\(try escaped(try string(value)))\"")
        }
        return (autospace && !parts.isEmpty ? " " : "") + parts.joined(separator: " ")
    }
}

/// Python's `textwrap` with whitespace left as it is: greedy lines of chunks, which are words and the blanks between.
private struct TextWrapper {
    let width: Int
    let breaksWords: Bool
    let breaksHyphens: Bool

    func wrap(_ line: String) -> [String] {
        var chunks = Array(chunks(of: Array(line.unicodeScalars)).reversed())
        var lines: [String] = []
        while !chunks.isEmpty {
            if isBlank(chunks[chunks.count - 1]), !lines.isEmpty { chunks.removeLast() }
            var current: [ArraySlice<Unicode.Scalar>] = []
            var length = 0
            while let chunk = chunks.last, length + chunk.count <= width {
                current.append(chunks.removeLast())
                length += chunk.count
            }
            if let chunk = chunks.last, chunk.count > width {
                let room = max(width - length, 1)
                if breaksWords {
                    current.append(chunk.prefix(room))
                    chunks[chunks.count - 1] = chunk.dropFirst(room)
                } else if current.isEmpty {
                    current.append(chunks.removeLast())
                }
            }
            if let last = current.last, isBlank(last) { current.removeLast() }
            if !current.isEmpty { lines.append(String(Array(current.joined()))) }
        }
        return lines
    }

    private func isBlank(_ chunk: ArraySlice<Unicode.Scalar>) -> Bool { chunk.allSatisfy(isSpace) }
    private func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar.isASCII && scalar.isPythonSpace }

    private func chunks(of line: [Unicode.Scalar]) -> [ArraySlice<Unicode.Scalar>] {
        var chunks: [ArraySlice<Unicode.Scalar>] = []
        var start = 0
        for index in line.indices.dropFirst()
        where isSpace(line[index - 1]) != isSpace(line[index]) || isBreak(line, before: index) {
            chunks.append(line[start..<index])
            start = index
        }
        if start < line.count { chunks.append(line[start...]) }
        return chunks
    }

    /// After a hyphen between letters: at least two before it, one after it.
    private func isBreak(_ line: [Unicode.Scalar], before index: Int) -> Bool {
        guard breaksHyphens, index >= 3, line[index - 1] == "-" else { return false }
        return line[index].isPythonAlpha && line[index - 2].isPythonAlpha && line[index - 3].isPythonAlpha
    }
}
