/// A URI or relative reference split into five parts (RFC 3986), as far as `$id` and `$ref` need it.
struct URIReference {
    var scheme: Substring?
    var authority: Substring?
    var path: Substring
    var query: Substring?
    var fragment: Substring?

    init(_ text: String) {
        var rest = text[...]
        if let hash = rest.firstIndex(of: "#") {
            fragment = rest[rest.index(after: hash)...]
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: "?") {
            query = rest[rest.index(after: mark)...]
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(of: ":"), colon > rest.startIndex, !rest[..<colon].contains("/") {
            scheme = rest[..<colon]
            rest = rest[rest.index(after: colon)...]
        }
        if rest.hasPrefix("//") {
            let start = rest.index(rest.startIndex, offsetBy: 2)
            let end = rest[start...].firstIndex(of: "/") ?? rest.endIndex
            authority = rest[start..<end]
            rest = rest[end...]
        }
        path = rest
    }

    /// `reference` resolved against `base`, without its fragment.
    static func resolve(_ reference: String, against base: String) -> String {
        var target = URIReference(reference)
        target.fragment = nil
        let base = URIReference(base)
        if target.scheme == nil {
            target.scheme = base.scheme
            if target.authority == nil {
                target.authority = base.authority
                if target.path.isEmpty {
                    target.path = base.path
                    if target.query == nil { target.query = base.query }
                } else if !target.path.hasPrefix("/") {
                    let folder =
                        base.path.lastIndex(of: "/").map { base.path[...$0] } ?? (base.authority == nil ? "" : "/")
                    target.path = withoutDots(folder + target.path)
                } else {
                    target.path = withoutDots(target.path)
                }
            }
        }
        return target.text
    }

    private static func withoutDots(_ path: Substring) -> Substring {
        guard path.contains("./") || path.hasSuffix("/.") || path.hasSuffix("/..") else { return path }
        var parts: [Substring] = []
        let pieces = path.split(separator: "/", omittingEmptySubsequences: false)
        for (index, piece) in pieces.enumerated() {
            let isLast = index == pieces.count - 1
            switch piece {
            case ".": if isLast { parts.append("") }
            case "..":
                if parts.count > 1 { parts.removeLast() }
                if isLast { parts.append("") }
            default: parts.append(piece)
            }
        }
        return parts.joined(separator: "/")[...]
    }

    private var text: String {
        (scheme.map { "\($0):" } ?? "") + (authority.map { "//\($0)" } ?? "") + path + (query.map { "?\($0)" } ?? "")
    }

    /// Decodes percent-encoding; `nil` if it is malformed.
    static func decode(_ text: Substring) -> [UInt8]? {
        var result: [UInt8] = []
        var bytes = text.utf8[...]
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = bytes.popFirst().flatMap(StringSyntax.hexadecimal),
                    let low = bytes.popFirst().flatMap(StringSyntax.hexadecimal)
                else { return nil }
                result.append(high << 4 | low)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
