/// A validated request head.
package struct RequestHead: Sendable, Equatable {
    /// How the end of the body is found (RFC 9112, section 6.3).
    package enum Framing: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    package var method: String
    package var target: Target
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    package var minorVersion: Int
    package var headers: Headers
    package var framing: Framing
    /// Whether the client wants to keep the connection open after the response.
    package var keepAlive: Bool
    /// Whether the client waits for `100 Continue` before it sends the body.
    package var expectsContinue: Bool
}

/// Why a request is refused: the status of the response, and the reason. Also thrown for invalid responses, where
/// `status` has no meaning.
package struct RequestError: Error, Equatable, Sendable {
    /// HTTP status of the response.
    package var status: Int
    /// The reason, for the client, without a full stop.
    package var message: String

    package init(status: Int, message: String) {
        self.status = status
        self.message = message
    }

    static func malformed(_ message: String) -> Self { .init(status: 400, message: message) }
}

extension RequestHead {
    /// Checks `Host`, framing and `Expect`.
    ///
    /// Ambiguous framing is refused, not repaired: two parsers that disagree about the end of a body allow request
    /// smuggling (RFC 9112, section 11.2).
    init(method: String, target: Target, minorVersion: Int, headers: Headers) throws(RequestError) {
        self.method = method
        self.target = target
        self.minorVersion = minorVersion
        self.headers = headers

        let hosts = headers.all("Host")
        guard hosts.count <= 1 else { throw .malformed("more than one Host header") }
        guard minorVersion == 0 || hosts.count == 1 else { throw .malformed("HTTP/1.1 needs a Host header") }
        if let host = hosts.first {
            guard Target.isAuthority(host.utf8) else { throw .malformed("the Host header is not a valid host") }
            // A check of only one of the two could be bypassed with the other (RFC 9112, section 3.2).
            guard target.authority.map({ equalsIgnoringCase($0, host) }) ?? true else {
                throw .malformed("the request target and the Host header name different hosts")
            }
        }

        framing = try Self.framing(headers, minorVersion)

        let connection = headers.list("Connection")
        keepAlive = !connection.contains("close") && (minorVersion == 1 || connection.contains("keep-alive"))

        let expectation = headers.list("Expect")
        expectsContinue = minorVersion == 1 && expectation == ["100-continue"]
        guard expectation.isEmpty || expectation == ["100-continue"] else {
            throw .init(status: 417, message: "the only supported expectation is 100-continue")
        }
    }

    static func framing(_ headers: Headers, _ minorVersion: Int) throws(RequestError) -> Framing {
        let codings = headers.all("Transfer-Encoding")
        let lengths = headers.all("Content-Length")
        guard let coding = codings.first else {
            guard let length = lengths.first else { return .none }
            guard lengths.count == 1 else { throw .malformed("more than one Content-Length header") }
            return .length(try decimal(length))
        }
        guard lengths.isEmpty else { throw .malformed("both Content-Length and Transfer-Encoding") }
        guard minorVersion == 1 else { throw .malformed("Transfer-Encoding in HTTP/1.0") }
        guard codings.count == 1 else { throw .malformed("more than one Transfer-Encoding header") }
        if equalsIgnoringCase(coding, "chunked") { return .chunked }
        let list = headers.list("Transfer-Encoding")
        guard list.firstIndex(of: "chunked") == list.count - 1 else {
            throw .malformed("Transfer-Encoding must have chunked once, at its end")
        }
        throw .init(status: 501, message: "the only supported transfer coding is chunked")
    }

    /// Parses digits only, without sign, list or space. A number too large for `Int` becomes `Int.max`, which exceeds
    /// every limit.
    private static func decimal(_ text: String) throws(RequestError) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else {
            throw .malformed("Content-Length is not a number of bytes")
        }
        return Int(text) ?? .max
    }
}
