import Foundation

extension Renderer {
    func textFilter(_ filter: JinjaFilter, _ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
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
