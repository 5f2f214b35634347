/// URL of an image: on the web, or a `data:` URL (RFC 2397).
package enum ImageAddress {
    /// File types by the base64 of their first bytes.
    private static let types = ["iVBORw0KGgo": "png", "/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"]

    package static func isOne(_ text: String) -> Bool {
        ["data:image/", "https://", "http://"].contains { text.utf8.starts(with: $0.utf8) }
    }

    /// - Returns: `nil` for other file types.
    package static func holding(base64: String) -> String? {
        let type = types.first { base64.utf8.starts(with: $0.key.utf8) }?.value
        return type.map { "data:image/\($0);base64,\(base64)" }
    }
}
