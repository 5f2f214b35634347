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
        case .striptags:
            try charge(text.utf8.count)
            return .string(stripTags(text))
        default: throw fail("the filter '\(filter.rawValue)' is not available in chat templates")
        }
    }

    func escaped(_ text: String) throws(TemplateError) -> String {
        // "&#34;" is five times as long as the character it replaces.
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

    /// `|title`: words begin after `-`, white space and opening brackets.
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

    /// Removes comments and tags, collapses white space, and decodes the five escapes.
    private func stripTags(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for (open, close) in [("<!--", "-->"), ("<", ">")] { bytes = removing(from: open, to: close, bytes) }
        let words = String(decoding: bytes, as: UTF8.self).unicodeScalars.split(whereSeparator: \.isPythonSpace)
        bytes = []
        for (index, word) in words.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: " ")) }
            bytes += Substring(word).utf8
        }
        for (entity, character) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&#34;", "\""), ("&quot;", "\""), ("&amp;", "&"),
        ] {
            bytes = replacing(entity, with: character, bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Removes the text from `open` to the next `close`, markers included.
    private func removing(from open: String, to close: String, _ bytes: [UInt8]) -> [UInt8] {
        let closings = ByteSearch.offsets(of: Array(close.utf8), in: bytes, limit: .max)
        var (result, start, next): ([UInt8], Int, Int) = ([], 0, 0)
        for opening in ByteSearch.offsets(of: Array(open.utf8), in: bytes, limit: .max) where opening >= start {
            while next < closings.count, closings[next] < opening { next += 1 }
            guard next < closings.count else { break }
            result += bytes[start..<opening]
            start = closings[next] + close.utf8.count
        }
        return result + bytes[start...]
    }

    private func replacing(_ old: String, with new: String, _ bytes: [UInt8]) -> [UInt8] {
        var (result, start): ([UInt8], Int) = ([], 0)
        ByteSearch.forEach(Array(old.utf8), in: bytes, limit: .max) { offset in
            result += bytes[start..<offset]
            result += new.utf8
            start = offset + old.utf8.count
        }
        return result + bytes[start...]
    }
}
