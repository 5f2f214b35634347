/// A request target (RFC 9112, section 3.2) in origin, absolute or asterisk form.
package struct Target: Sendable, Equatable {
    /// The target as sent.
    package var raw: String
    /// Percent-decoded path; `*` in asterisk form.
    package var path: String
    /// Percent-decoded query items in order; `+` is a space.
    package var query: [QueryItem]
    /// Host and port, in absolute form only.
    var authority: String?

    init(_ bytes: ArraySlice<UInt8>, method: String) throws(RequestError) {
        guard method != "CONNECT" else { throw .init(status: 501, message: "CONNECT is not supported") }
        // Visible ASCII without `#`, since fragments are never sent.
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") }) else {
            throw .malformed("the request target has a byte that must be percent encoded")
        }
        raw = String(decoding: bytes, as: UTF8.self)
        if raw == "*", method == "OPTIONS" {
            (path, query) = ("*", [])
            return
        }

        let origin: ArraySlice<UInt8>
        (authority, origin) = try Self.splitAuthority(bytes)
        let mark = origin.firstIndex(of: UInt8(ascii: "?"))
        path = try Self.percentDecoded(origin[..<(mark ?? origin.endIndex)])
        query = []
        guard let mark else { return }
        for pair in origin[(mark + 1)...].split(separator: UInt8(ascii: "&")) {
            let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            query.append(
                QueryItem(
                    name: try Self.percentDecoded(sides[0], plusIsSpace: true),
                    value: sides.count == 2 ? try Self.percentDecoded(sides[1], plusIsSpace: true) : ""))
        }
    }

    /// Splits off the authority of absolute form, which servers must accept as well (section 3.2.2).
    private static func splitAuthority(
        _ bytes: ArraySlice<UInt8>
    ) throws(RequestError) -> (authority: String?, origin: ArraySlice<UInt8>) {
        if bytes.first == UInt8(ascii: "/") { return (nil, bytes) }
        for scheme in ["http://", "https://"] {
            guard equalsIgnoringCase(String(decoding: bytes.prefix(scheme.utf8.count), as: UTF8.self), scheme) else {
                continue
            }
            let rest = bytes.dropFirst(scheme.utf8.count)
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            guard isAuthority(rest[..<end]) else { throw .malformed("the request target has no valid host") }
            let path = rest[end...]
            return (
                String(decoding: rest[..<end], as: UTF8.self),
                path.first == UInt8(ascii: "/") ? path : [UInt8(ascii: "/")] + path
            )
        }
        throw .malformed("the request target must begin with /")
    }

    /// Whether bytes are `host` or `host:port`, without user information.
    static func isAuthority(_ bytes: some Collection<UInt8>) -> Bool {
        var rest = bytes[...]
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = rest[..<end].dropFirst()
            guard !address.isEmpty, address.allSatisfy({ isHexDigit($0) || $0 == 0x3a || $0 == 0x2e }) else {
                return false
            }
            rest = rest[end...].dropFirst()
        } else {
            let host = rest.prefix { $0 != UInt8(ascii: ":") }
            guard !host.isEmpty, host.allSatisfy({ isAlphanumeric($0) || "-._~%!$&'()*+;=".utf8.contains($0) }) else {
                return false
            }
            rest = rest.dropFirst(host.count)
        }
        guard !rest.isEmpty else { return true }
        let port = rest.dropFirst()
        guard rest.first == UInt8(ascii: ":"), port.count <= 5, port.allSatisfy(isDigit) else { return false }
        return port.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 65535
    }

    private static func percentDecoded(
        _ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = false
    ) throws(RequestError) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var i = bytes.startIndex
        while i < bytes.endIndex {
            switch bytes[i] {
            case UInt8(ascii: "%"):
                guard i + 2 < bytes.endIndex, let high = hexValue(bytes[i + 1]), let low = hexValue(bytes[i + 2]) else {
                    throw .malformed("the request target has a % that is not followed by two hex digits")
                }
                decoded.append(high << 4 | low)
                i += 3
            case UInt8(ascii: "+") where plusIsSpace:
                decoded.append(0x20)
                i += 1
            case let byte:
                decoded.append(byte)
                i += 1
            }
        }
        guard !decoded.contains(0), let text = String(validating: decoded, as: UTF8.self) else {
            throw .malformed("the request target does not decode to UTF-8 text")
        }
        return text
    }
}
