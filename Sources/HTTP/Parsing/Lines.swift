/// The first line of a request.
struct RequestLine: Sendable {
    var method: String
    var target: Target
    var minorVersion: Int

    init(_ line: ArraySlice<UInt8>) throws(RequestError) {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw .malformed("the request line must be a method, a target and a version, a space between each")
        }
        guard !parts[0].isEmpty, parts[0].allSatisfy(isTokenCharacter) else {
            throw .malformed("the request method has an invalid character")
        }
        method = String(decoding: parts[0], as: UTF8.self)
        minorVersion = try Self.minorVersion(parts[2])
        target = try Target(parts[1], method: method)
    }

    private static func minorVersion(_ bytes: ArraySlice<UInt8>) throws(RequestError) -> Int {
        guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8) else {
            throw .malformed("the request line must end with HTTP/1.1 or HTTP/1.0")
        }
        let digits = Array(bytes.suffix(3))
        guard isDigit(digits[0]), digits[1] == UInt8(ascii: "."), isDigit(digits[2]) else {
            throw .malformed("the request line must end with HTTP/1.1 or HTTP/1.0")
        }
        guard digits[0] == UInt8(ascii: "1"), digits[2] <= UInt8(ascii: "1") else {
            throw .init(status: 505, message: "this server supports HTTP/1.1 and HTTP/1.0 only")
        }
        return Int(digits[2] - 0x30)
    }
}

/// Header or trailer lines read so far.
struct HeaderLines: Sendable {
    var headers = Headers()
    var bytes = 0

    private mutating func append(_ line: ArraySlice<UInt8>, _ limits: Limits) throws(RequestError) {
        guard headers.fields.count < limits.headerCount else { throw .headersTooLarge }
        guard let first = line.first, !isBlank(first) else {
            throw .malformed("a header line begins with white space")  // obs-fold (RFC 9112, section 5.2)
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw .malformed("a header line without a colon")
        }
        guard colon > line.startIndex, line[..<colon].allSatisfy(isTokenCharacter) else {
            throw .malformed("a header name has an invalid character")
        }
        bytes += line.count + 2
        headers.append(
            String(decoding: line[..<colon], as: UTF8.self), Self.text(trimmingBlanks(line[(colon + 1)...])))
    }

    /// Reads lines up to the empty one; `false` if more bytes are needed.
    mutating func collect(from buffer: inout LineBuffer, _ limits: Limits) throws(RequestError) -> Bool {
        while let line = try buffer.line(upTo: limits.headerBytes - bytes, or: .headersTooLarge) {
            if line.isEmpty { return true }
            try append(line, limits)
        }
        return false
    }

    /// Decodes UTF-8, or else Latin-1, the historical encoding of headers.
    private static func text(_ value: ArraySlice<UInt8>) -> String {
        String(validating: value, as: UTF8.self)
            ?? value.reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) }
    }
}

/// Size of a chunked body so far.
struct ChunkTally: Sendable {
    /// Maximum bytes of a line with a chunk's size and extensions.
    static let lineLimit = 512
    /// Maximum bytes of all chunk extensions of one body, which are ignored.
    private static let extensionLimit = 8 * 1024

    /// Bytes of the chunks that have begun.
    private(set) var bodyBytes = 0
    private var extensionBytes = 0

    /// Reads the line before a chunk and returns the chunk's size.
    mutating func begin(_ line: ArraySlice<UInt8>, bodyLimit: Int) throws(RequestError) -> Int {
        let digits = line.prefix(while: isHexDigit)
        guard (1...16).contains(digits.count) else { throw .malformed("a chunk size must be 1 to 16 hex digits") }
        let rest = line.dropFirst(digits.count)
        guard rest.isEmpty || rest.drop(while: isBlank).first == UInt8(ascii: ";") else {
            throw .malformed("only an extension may follow a chunk size")
        }
        extensionBytes += rest.count
        guard extensionBytes <= Self.extensionLimit else { throw .malformed("too many chunk extensions") }

        // At most 16 digits, so it fits UInt64.
        let size = digits.reduce(UInt64(0)) { $0 << 4 | UInt64(hexValue($1) ?? 0) }
        guard size <= UInt64(max(0, bodyLimit - bodyBytes)) else { throw .bodyTooLarge(bodyLimit) }
        bodyBytes += Int(size)
        return Int(size)
    }
}

extension RequestError {
    static let requestLineTooLong = Self(status: 414, message: "the request line is too long")
    static let headersTooLarge = Self(status: 431, message: "the headers are too many or too long")
    static let chunkLineTooLong = malformed("a chunk extension is too long")
    static let chunkOverrun = malformed("a chunk is longer than its size says")
    static func bodyTooLarge(_ limit: Int) -> Self {
        .init(status: 413, message: "the body is larger than \(limit) bytes")
    }
}
