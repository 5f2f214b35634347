extension Renderer {
    func strip(_ text: String, _ chars: Value?, leading: Bool, trailing: Bool) throws(TemplateError) -> String {
        let set = try chars.given.map { (chars) throws(TemplateError) in
            Set(try string(chars, "strip argument").unicodeScalars)
        }
        func isStripped(_ scalar: Unicode.Scalar) -> Bool { set?.contains(scalar) ?? scalar.isPythonSpace }
        let text = leading ? text.dropping(while: isStripped) : text
        return trailing ? text.droppingLast(while: isStripped) : text
    }

    func split(_ text: String, _ arguments: [Value?], fromEnd: Bool) throws(TemplateError) -> Value {
        let limit = try arguments[1].map { (value) throws(TemplateError) in try integer(value, "maxsplit") } ?? -1
        let most = limit < 0 ? Int.max : limit
        guard let separator = arguments[0].given else {
            try charge(text.utf8.count / 2)  // a word and a blank take at least two bytes
            let words = fromEnd ? lastWords(text, most) : firstWords(text, most)
            return try list(words.map { .string($0) })
        }
        let sep = try string(separator, "separator")
        guard !sep.isEmpty else { throw fail("empty separator") }
        try charge(2 * text.occurrences(ofScalars: sep, limit: most))
        let ranges = fromEnd ? text.lastRanges(ofScalars: sep, limit: most) : text.ranges(ofScalars: sep, limit: most)
        var parts: [Value] = []
        var start = text.startIndex
        for range in ranges {
            parts.append(.string(String(text.unicodeScalars[start..<range.lowerBound])))
            start = range.upperBound
        }
        parts.append(.string(String(text.unicodeScalars[start...])))
        return try list(parts)
    }

    private func firstWords(_ text: String, _ limit: Int) -> [String] {
        var words: [String] = []
        var rest = text.unicodeScalars[...].drop(while: \.isPythonSpace)
        while !rest.isEmpty {
            if words.count == limit {
                words.append(String(rest))
                break
            }
            let end = rest.firstIndex(where: \.isPythonSpace) ?? rest.endIndex
            words.append(String(rest[..<end]))
            rest = rest[end...].drop(while: \.isPythonSpace)
        }
        return words
    }

    private func lastWords(_ text: String, _ limit: Int) -> [String] {
        var words: [String] = []
        var rest = text.unicodeScalars[...]
        func dropBlanks() {
            while let last = rest.last, last.isPythonSpace { rest.removeLast() }
        }
        dropBlanks()
        while !rest.isEmpty {
            if words.count == limit {
                words.append(String(rest))
                break
            }
            let start = rest.lastIndex(where: \.isPythonSpace).map { rest.index(after: $0) } ?? rest.startIndex
            words.append(String(rest[start...]))
            rest = rest[..<start]
            dropBlanks()
        }
        return words.reversed()
    }

    func partition(_ text: String, _ separator: Value?, fromEnd: Bool) throws(TemplateError) -> Value {
        let sep = try string(separator ?? .null, "separator")
        guard !sep.isEmpty else { throw fail("empty separator") }
        let range = fromEnd ? text.lastRanges(ofScalars: sep, limit: 1).first : text.firstRange(ofScalars: sep)
        guard let range else {
            let parts = fromEnd ? ["", "", text] : [text, "", ""]
            return try tuple(parts.map { .string($0) })
        }
        let scalars = text.unicodeScalars
        return try tuple([
            .string(String(scalars[..<range.lowerBound])), .string(sep), .string(String(scalars[range.upperBound...])),
        ])
    }

    /// Python's `splitlines`; charges before the lines are created.
    func lines(of text: String, keepingEnds: Bool = false) throws(TemplateError) -> [String] {
        try charge(bytes: text.utf8.count)
        // Every line end has one of these bytes last; few other characters do.
        try charge(
            2
                * text.utf8.count {
                    (0x0A...0x0D).contains($0) || (0x1C...0x1E).contains($0) || $0 == 0x85 || $0 >> 1 == 0xA8 >> 1
                })
        return text.pythonLines(keepingEnds: keepingEnds)
    }
}
