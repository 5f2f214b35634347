import Platform

/// Why a handler's response cannot be sent.
struct InvalidResponse: Error, CustomStringConvertible {
    var description: String
}

/// The encoded head of a response, and the framing of its body.
struct ResponseHead {
    enum Framing { case none, length, chunked, untilClose }

    var bytes: [UInt8]
    var framing: Framing
    var keepAlive: Bool

    /// Checks every header name and value against injection: no text from a request can start another header or
    /// response.
    init(_ response: Response, to request: RequestHead?, id: String?, keepAlive: Bool) throws(InvalidResponse) {
        guard (200...599).contains(response.status) else {
            throw InvalidResponse(description: "status \(response.status) ends no request")
        }
        let hasBody = response.status != 204 && response.status != 304
        switch response.body {
        case _ where !hasBody: framing = .none
        case .bytes: framing = .length
        case .stream: framing = request?.minorVersion == 0 ? .untilClose : .chunked
        }
        self.keepAlive = keepAlive && framing != .untilClose

        var text = "HTTP/1.1 \(response.status) \(Self.reason(response.status))\r\nDate: \(Self.date())\r\n"
        for field in response.headers.fields {
            try Self.check(field)
            text += "\(field.name): \(field.value)\r\n"
        }
        if let id { text += "X-Request-Id: \(id)\r\n" }
        if framing == .length, case .bytes(let bytes) = response.body { text += "Content-Length: \(bytes.count)\r\n" }
        if framing == .chunked { text += "Transfer-Encoding: chunked\r\n" }
        if !self.keepAlive {
            text += "Connection: close\r\n"
        } else if request?.minorVersion == 0 {
            text += "Connection: keep-alive\r\n"
        }
        bytes = Array((text + "\r\n").utf8)
        if request?.method == "HEAD" { framing = .none }
    }

    private static let ownedByServer = ["Date", "X-Request-Id", "Content-Length", "Transfer-Encoding", "Connection"]

    static func check(_ field: Headers.Field) throws(InvalidResponse) {
        guard !field.name.isEmpty, field.name.utf8.allSatisfy(isTokenCharacter) else {
            throw InvalidResponse(description: "a header's name is no token")
        }
        guard field.value.utf8.allSatisfy(isValueCharacter) else {
            throw InvalidResponse(description: "the value of header \(field.name) is not one line of text")
        }
        guard !ownedByServer.contains(where: { equalsIgnoringCase($0, field.name) }) else {
            throw InvalidResponse(description: "header \(field.name) is not the caller's to set")
        }
    }

    /// The current date as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
    private static func date() -> String {
        var seconds = time(nil)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let two = { (number: Int32) in number < 10 ? "0\(number)" : "\(number)" }
        let day =
            "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
        return "\(day) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""  // the phrase may be empty, but the space before it is required
        }
    }
}
