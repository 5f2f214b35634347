/// Where an image can be had: an address of the web, or one that holds the image itself (RFC 2397).
enum ImageAddress {
    /// How files of these types begin, in base64.
    private static let types = ["iVBORw0KGgo": "png", "/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"]

    static func isOne(_ text: String) -> Bool {
        ["data:image/", "https://", "http://"].contains { text.utf8.starts(with: $0.utf8) }
    }

    /// - Returns: `nil` for what does not begin as one of these types does.
    static func holding(base64: String) -> String? {
        let type = types.first { base64.utf8.starts(with: $0.key.utf8) }?.value
        return type.map { "data:image/\($0);base64,\(base64)" }
    }
}
