import Foundation

extension Renderer {
    func urlencode(_ value: Value) throws(TemplateError) -> String {
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
            try charge(16)
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

    func xmlattr(_ value: Value, autospace: Bool) throws(TemplateError) -> String {
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
