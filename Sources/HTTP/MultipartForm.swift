/// The fields and files of a `multipart/form-data` body (RFC 7578; RFC 2046, section 5.1).
///
/// Parsed as strictly as requests: nothing stands before the first boundary or after the last, and each part has a name.
package struct MultipartForm: Sendable {
    package struct Part: Sendable {
        package var name: String
        /// The name that the client gave a file; `nil` for a field.
        package var fileName: String?
        package var contentType: String?
        package var bytes: ArraySlice<UInt8>
    }

    /// In the order of the body; names may repeat.
    package private(set) var parts: [Part] = []

    private static let mediaType = "multipart/form-data"
    private static let mostParts = 256
    /// Of one part's headers.
    private static let limits = {
        var limits = Limits()
        (limits.headerBytes, limits.headerCount) = (4096, 16)
        return limits
    }()

    /// - Parameter contentType: The header `Content-Type`, which has the boundary.
    /// - Throws: A 400; a 413 for more than 256 parts; a 431 for a part with more than 4 KiB or 16 lines of headers.
    package init(_ body: [UInt8], contentType: String?) throws(RequestError) {
        guard let type = contentType.flatMap({ ParameterizedValue($0) }),
            equalsIgnoringCase(type.value, Self.mediaType)
        else { throw .malformed("the body must be a form, with Content-Type: \(Self.mediaType)") }
        guard let boundary = type["boundary"], (1...70).contains(boundary.utf8.count) else {
            throw .malformed("Content-Type has no boundary of 1 to 70 characters")
        }
        let delimiter = Array("\r\n--\(boundary)".utf8)
        guard body.starts(with: delimiter[2...]) else { throw .malformed("the form does not begin with its boundary") }
        var rest = body.dropFirst(delimiter.count - 2)
        while !rest.starts(with: "--".utf8) {
            rest = rest.drop(while: isBlank)
            guard rest.starts(with: "\r\n".utf8) else {
                throw .malformed("a boundary of the form does not end its line")
            }
            rest = rest.dropFirst(2)
            guard parts.count < Self.mostParts else {
                throw .init(status: 413, message: "the form has more than \(Self.mostParts) parts")
            }
            guard let end = rest.firstIndex(of: delimiter) else { throw .malformed("the form has no last boundary") }
            parts.append(try Self.part(rest[..<end]))
            rest = rest[end...].dropFirst(delimiter.count)
        }
        rest = rest.dropFirst(2).drop(while: isBlank)
        guard rest.isEmpty || rest.elementsEqual("\r\n".utf8) else {
            throw .malformed("something follows the form's last boundary")
        }
    }

    /// The content of the first part with a name.
    package subscript(name: String) -> ArraySlice<UInt8>? {
        parts.first { $0.name.utf8.elementsEqual(name.utf8) }?.bytes
    }

    /// - Parameter bytes: The headers, an empty line and the content.
    private static func part(_ bytes: ArraySlice<UInt8>) throws(RequestError) -> Part {
        var (lines, buffer) = (HeaderLines(), LineBuffer())
        // More than these bytes cannot be headers.
        let head = bytes.prefix(limits.headerBytes + 2 * limits.headerCount)
        buffer.append(head)
        guard try lines.collect(from: &buffer, limits) else {
            throw .malformed("the headers of a part of the form do not end with an empty line")
        }
        guard let disposition = lines.headers["Content-Disposition"].flatMap({ ParameterizedValue($0) }),
            equalsIgnoringCase(disposition.value, "form-data"), let name = disposition["name"]
        else { throw .malformed("a part of the form has no Content-Disposition: form-data with a name") }
        return Part(
            name: name, fileName: disposition["filename"], contentType: lines.headers["Content-Type"],
            bytes: bytes.dropFirst(head.count - buffer.count))
    }
}

extension ArraySlice<UInt8> {
    /// - Parameter delimiter: Begins with its only CR, so that the search takes linear time.
    fileprivate func firstIndex(of delimiter: [UInt8]) -> Int? {
        var rest = self
        while let start = rest.firstIndex(of: UInt8(ascii: "\r")) {
            rest = rest[start...]
            if rest.starts(with: delimiter) { return start }
            rest.removeFirst()
        }
        return nil
    }
}

/// A header's value with parameters, as `form-data; name="image"; filename="a.png"` (RFC 9110, section 5.6.6).
private struct ParameterizedValue {
    let value: String
    private var parameters: [(name: String, value: String)] = []

    /// `nil` if it is malformed.
    init?(_ text: String) {
        var rest = ArraySlice(text.utf8)
        func next(until isEnd: (UInt8) -> Bool) -> String {
            let bytes = rest.prefix { !isEnd($0) }
            rest = rest[bytes.endIndex...]
            return String(decoding: trimmingBlanks(bytes), as: UTF8.self)
        }
        value = next { $0 == UInt8(ascii: ";") }
        while rest.popFirst() != nil {
            let name = next { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") }
            if name.isEmpty, rest.isEmpty { break }
            guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return nil }
            rest = rest.drop(while: isBlank)
            guard rest.first == UInt8(ascii: "\"") else {
                parameters.append((name, next { $0 == UInt8(ascii: ";") }))
                continue
            }
            rest.removeFirst()
            guard let quoted = Self.quoted(&rest) else { return nil }
            parameters.append((name, quoted))
            guard next(until: { $0 == UInt8(ascii: ";") }).isEmpty else { return nil }
        }
    }

    /// The text up to the closing quotation mark. A backslash makes the next character literal.
    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): bytes.append(rest.popFirst() ?? byte)
            default: bytes.append(byte)
            }
        }
        return nil
    }

    subscript(name: String) -> String? { parameters.first { equalsIgnoringCase($0.name, name) }?.value }
}
