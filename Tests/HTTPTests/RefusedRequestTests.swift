@testable import HTTP
import Testing

/// Bytes that are no request, or not one served here. Each is also fed byte by byte and cut at every place.
@Suite struct RefusedRequestTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var text: String
        var status = 400
        var testDescription: String { name }
    }

    private func check(_ input: Case) {
        let (outcome, differing) = parse(input.text)
        #expect(outcome.error?.status == input.status)
        #expect(outcome.messages.allSatisfy { !$0.isWhole })
        #expect(differing.isEmpty)
    }

    @Test(arguments: [
        Case(name: "HTTP/0.9", text: "GET /\r\n\r\n"),
        Case(name: "HTTP/2 preface", text: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505),
        Case(name: "HTTP/1.2", text: "GET / HTTP/1.2\r\nHost: a\r\n\r\n", status: 505),
        Case(name: "HTTP/2.0", text: "GET / HTTP/2.0\r\nHost: a\r\n\r\n", status: 505),
        Case(name: "lower-case version", text: "GET / http/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "long version", text: "GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
        Case(name: "no version", text: "GET / \r\nHost: a\r\n\r\n"),
        Case(name: "two spaces", text: "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "trailing space", text: "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
        Case(name: "leading space", text: " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "tab between", text: "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "no method", text: "/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "bad method", text: "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "method not ASCII", text: "GÉT / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "two empty lines before", text: "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "TLS on a plain port", text: "\u{16}\u{3}\u{1}\u{2}"),
        Case(name: "NUL in the line", text: "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "bare LF", text: "GET / HTTP/1.1\nHost: a\n\n"),
        Case(name: "bare CR", text: "GET / HTTP/1.1\rHost: a\r\n\r\n"),
        Case(name: "CR CR LF", text: "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"),
    ])
    func `request lines`(_ input: Case) { check(input) }

    @Test(arguments: [
        Case(name: "8-bit", text: "GET /é HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "fragment", text: "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "relative", text: "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "asterisk with GET", text: "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "CONNECT", text: "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", status: 501),
        Case(name: "other scheme", text: "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "absolute without host", text: "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "absolute with user", text: "GET http://u@a/x HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "absolute, other Host", text: "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n"),
        Case(name: "absolute, other port", text: "GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "absolute without Host", text: "GET http://a/ HTTP/1.1\r\n\r\n"),
        Case(name: "lone percent", text: "GET /% HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "bad percent", text: "GET /%4x HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "percent NUL", text: "GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "percent not UTF-8", text: "GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "bad percent in query", text: "GET /?a=%g0 HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "no Host", text: "GET / HTTP/1.1\r\n\r\n"),
        Case(name: "empty Host", text: "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        Case(name: "two Hosts", text: "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
        Case(name: "two Hosts in 1.0", text: "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
        Case(name: "Host with path", text: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        Case(name: "Host with user", text: "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
        Case(name: "Host list", text: "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
        Case(name: "Host port over 65535", text: "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n"),
        Case(name: "Host port not a number", text: "GET / HTTP/1.1\r\nHost: a:x\r\n\r\n"),
        Case(name: "Host open bracket", text: "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
    ])
    func `targets and hosts`(_ input: Case) { check(input) }

    @Test(arguments: [
        Case(name: "space before colon", text: request(["Content-Length : 3"], "abc")),
        Case(name: "TE, space before colon", text: request(["Transfer-Encoding : chunked"], "0\r\n\r\n")),
        Case(name: "obs-fold", text: request(["X: a", " b"])),
        Case(name: "obs-fold with tab", text: request(["X: a", "\tb"])),
        Case(name: "first line folded", text: "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        Case(name: "space before TE", text: request([" Transfer-Encoding: chunked"], "0\r\n\r\n")),
        Case(name: "no colon", text: request(["X"])),
        Case(name: "no name", text: request([": x"])),
        Case(name: "name with space", text: request(["X Y: x"])),
        Case(name: "name not ASCII", text: request(["Ü: x"])),
        Case(name: "name in quotes", text: request(["\"X\": x"])),
        Case(name: "NUL in value", text: request(["X: a\0b"])),
        Case(name: "DEL in value", text: request(["X: a\u{7f}b"])),
        Case(name: "bare CR in value", text: request(["X: a\rb"])),
        Case(name: "bare LF in value", text: request(["X: a\nY: b"])),
        Case(name: "vertical tab", text: request(["Transfer-Encoding: \u{b}chunked"], "0\r\n\r\n")),
        Case(name: "vertical tab in value", text: request(["X: a\u{b}b"])),
        Case(name: "form feed in value", text: request(["X: a\u{c}b"])),
        Case(name: "escape in value", text: request(["X: \u{1b}[2J"])),
        Case(name: "CL hidden by a control", text: request(["X: a\rContent-Length: 3"], "abc")),
        Case(name: "name with colon only", text: request([":"])),
        Case(name: "tab before colon", text: request(["Content-Length\t: 3"], "abc")),
        Case(name: "other expectation", text: request(["Expect: magic"]), status: 417),
    ])
    func `header lines`(_ input: Case) { check(input) }

    @Test(arguments: [
        Case(name: "CL and TE", text: request(["Content-Length: 3", "Transfer-Encoding: chunked"], "0\r\n\r\n")),
        Case(name: "TE and CL", text: request(["Transfer-Encoding: chunked", "Content-Length: 3"], "0\r\n\r\n")),
        Case(name: "two equal CL", text: request(["Content-Length: 3", "Content-Length: 3"], "abc")),
        Case(name: "two different CL", text: request(["Content-Length: 3", "Content-Length: 4"], "abc")),
        Case(name: "CL list", text: request(["Content-Length: 3, 3"], "abc")),
        Case(name: "CL empty", text: request(["Content-Length:"])),
        Case(name: "CL plus", text: request(["Content-Length: +3"], "abc")),
        Case(name: "CL minus", text: request(["Content-Length: -3"], "abc")),
        Case(name: "CL hex", text: request(["Content-Length: 0x3"], "abc")),
        Case(name: "CL underscore", text: request(["Content-Length: 1_0"], "abc")),
        Case(name: "CL with inner space", text: request(["Content-Length: 3 3"], "abc")),
        Case(name: "CL other digits", text: request(["Content-Length: ٣"], "abc")),
        Case(name: "CL over Int", text: request(["Content-Length: 99999999999999999999999"]), status: 413),
        Case(name: "CL over the limit", text: request(["Content-Length: 8388609"]), status: 413),
        Case(name: "two TE", text: request(["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], "0\r\n\r\n")),
        Case(name: "TE chunked, identity", text: request(["Transfer-Encoding: chunked, identity"], "0\r\n\r\n")),
        Case(name: "TE identity", text: request(["Transfer-Encoding: identity"])),
        Case(name: "TE empty", text: request(["Transfer-Encoding:"])),
        Case(name: "TE xchunked", text: request(["Transfer-Encoding: xchunked"], "0\r\n\r\n")),
        Case(name: "TE quoted", text: request(["Transfer-Encoding: \"chunked\""], "0\r\n\r\n")),
        Case(name: "TE gzip, chunked", text: request(["Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"), status: 501),
        Case(name: "TE chunked, chunked", text: request(["Transfer-Encoding: chunked, chunked"], "0\r\n\r\n")),
        Case(
            name: "TE identity, chunked", text: request(["Transfer-Encoding: identity, chunked"], "0\r\n\r\n"),
            status: 501),
        Case(name: "TE empty element", text: request(["Transfer-Encoding: ,chunked"], "0\r\n\r\n"), status: 501),
        Case(name: "TE with parameter", text: request(["Transfer-Encoding: chunked;q=1"], "0\r\n\r\n")),
        Case(name: "TE form feed", text: request(["Transfer-Encoding: chunked\u{c}"], "0\r\n\r\n")),
        Case(name: "TE 8-bit", text: request(["Transfer-Encoding: chunked\u{a0}"], "0\r\n\r\n")),
        Case(
            name: "TE and CL in 1.0",
            text: "POST / HTTP/1.0\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
        Case(name: "TE in 1.0", text: "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ])
    func `body framing`(_ input: Case) { check(input) }

    static let chunked = ["Transfer-Encoding: chunked"]

    @Test(arguments: [
        Case(name: "0x", text: request(chunked, "0x5\r\nhello\r\n0\r\n\r\n")),
        Case(name: "plus", text: request(chunked, "+5\r\nhello\r\n0\r\n\r\n")),
        Case(name: "minus", text: request(chunked, "-5\r\nhello\r\n0\r\n\r\n")),
        Case(name: "no size", text: request(chunked, "\r\nhello\r\n0\r\n\r\n")),
        Case(name: "space before", text: request(chunked, " 5\r\nhello\r\n0\r\n\r\n")),
        Case(name: "space after", text: request(chunked, "5 \r\nhello\r\n0\r\n\r\n")),
        Case(name: "underscore", text: request(chunked, "0_5\r\nhello\r\n0\r\n\r\n")),
        Case(name: "bare LF after size", text: request(chunked, "5\nhello\r\n0\r\n\r\n")),
        Case(name: "longer than it says", text: request(chunked, "4\r\nhello\r\n0\r\n\r\n")),
        Case(name: "bare LF after data", text: request(chunked, "5\r\nhello\n0\r\n\r\n")),
        Case(name: "shorter than it says", text: request(chunked, "6\r\nhello\r\n0\r\n\r\n")),
        Case(name: "tab after", text: request(chunked, "5\t\r\nhello\r\n0\r\n\r\n")),
        Case(name: "comma after", text: request(chunked, "5,5\r\nhello\r\n0\r\n\r\n")),
        Case(name: "CR CR LF after size", text: request(chunked, "5\r\r\nhello\r\n0\r\n\r\n")),
        Case(name: "bare LF in extension", text: request(chunked, "5;a\n0\r\nhello\r\n0\r\n\r\n")),
        Case(name: "request in an extension", text: request(chunked, "0;\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")),
        Case(name: "NUL in extension", text: request(chunked, "5;\0\r\nhello\r\n0\r\n\r\n")),
        Case(name: "bare LF ends trailers", text: request(chunked, "0\r\nX: a\r\n\n")),
        Case(name: "17 digits", text: request(chunked, "00000000000000005\r\nhello\r\n0\r\n\r\n")),
        Case(name: "overflow", text: request(chunked, "ffffffffffffffff\r\nhello"), status: 413),
        Case(name: "overflow to a small size", text: request(chunked, "10000000000000005\r\nhello")),
        Case(name: "sum over the limit", text: request(chunked, "5\r\nhello\r\n7fffff\r\n"), status: 413),
        Case(name: "control in extension", text: request(chunked, "5;a=\u{1}\r\nhello\r\n0\r\n\r\n")),
        Case(name: "bare CR in extension", text: request(chunked, "5;a\rb\r\nhello\r\n0\r\n\r\n")),
        Case(name: "long extension", text: request(chunked, "5;" + String(repeating: "a", count: 600))),
        Case(name: "folded trailer", text: request(chunked, "0\r\nX: a\r\n b\r\n\r\n")),
        Case(name: "bad trailer", text: request(chunked, "0\r\nX y: a\r\n\r\n")),
        Case(name: "garbage for a trailer", text: request(chunked, "0\r\nGET / HTTP/1.1\r\n\r\n")),
    ])
    func `chunks and trailers`(_ input: Case) { check(input) }

    @Test func `many chunk extensions are too many`() {
        let chunk = "1;\(String(repeating: "a", count: 400))\r\nx\r\n"
        let text = request(Self.chunked, String(repeating: chunk, count: 100))
        #expect(Outcome([Array(text.utf8)[...]]).error?.status == 400)
    }

    @Test func `each limit has its status, on the first byte over it and not before`() {
        var limits = Limits()
        (limits.requestLine, limits.headerBytes, limits.headerCount, limits.bodyBytes) = (20, 40, 3, 5)
        func status(_ text: String) -> Int? {
            let (outcome, differing) = parse(text, limits: limits)
            #expect(differing.isEmpty)
            return outcome.error?.status
        }
        #expect(status("GET /567890 HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
        #expect(status("GET /5678901 HTTP/1.1") == 414)
        #expect(status("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 28))") == nil)
        #expect(status("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 29))") == 431)
        #expect(status("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\n\r\n") == nil)
        #expect(status("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC:\r\n") == 431)
        #expect(status(request(["Content-Length: 5"], "hello")) == nil)
        #expect(status(request(["Content-Length: 6"])) == 413)
        let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(status(chunked + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") == nil)
        #expect(status(chunked + "3\r\nabc\r\n3\r\n") == 413)
        #expect(status(chunked + "0\r\nX: \(String(repeating: "x", count: 38))") == 431)
    }

    @Test func `after an error every call throws it again`() throws {
        var parser = RequestParser()
        parser.append("nonsense\r\n".utf8)
        let first = try #require(throws: RequestError.self) { try parser.next() }
        parser.append("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        #expect(throws: first) { try parser.next() }
    }
}
