@testable import HTTP
import Testing

@Suite struct ResponseParserTests {
    /// The outcome, which must not depend on how the bytes were cut.
    private func parse(_ text: String) -> ResponseOutcome {
        let bytes = Array(text.utf8)
        let whole = ResponseOutcome([bytes[...]])
        #expect(ResponseOutcome(bytes.indices.map { bytes[$0...$0] }) == whole)
        for cut in bytes.indices { #expect(ResponseOutcome([bytes[..<cut], bytes[cut...]]) == whole) }
        return whole
    }

    @Test func `bodies end by length, by chunks, or with the connection`() {
        let fixed = parse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\nabcdef")
        #expect(fixed.heads.map(\.status) == [200] && fixed.heads.first?.headers["x"] == "y")
        #expect(fixed.text == "abc" && fixed.isWhole && !fixed.mayEndHere)
        let chunked = parse(
            "HTTP/1.1 500 \r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\nT: u\r\n\r\n")
        #expect(chunked.heads.map(\.status) == [500] && chunked.text == "abc" && chunked.isWhole)
        let open = parse("HTTP/1.0 404\r\n\r\nabc")
        #expect(open.heads.map(\.status) == [404] && open.text == "abc" && !open.isWhole && open.mayEndHere)
        #expect(parse("HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\n").isWhole)
        #expect(parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").isWhole)
    }

    @Test func `interim answers are skipped`() {
        let outcome = parse(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 H\r\nLink: x\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
        #expect(outcome.heads.map(\.status) == [200] && outcome.text == "a" && outcome.isWhole)
    }

    @Test func `what is cut off is not whole`() {
        for text in [
            "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        ] {
            let outcome = parse(text)
            #expect(!outcome.isWhole && !outcome.mayEndHere && outcome.error == nil)
        }
    }

    @Test(arguments: [
        "HTTP/2 200 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1  200\r\n", "ICY 200 OK\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 999 X\r\n\r\n", "HTTP/1.1 099 X\r\n\r\n", "\r\n\r\n",
        "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/1.1 200 OK\r\n b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    ])
    func `anything else is refused`(_ text: String) { #expect(parse(text).error != nil) }

    @Test func `heads have a bound`() {
        let line = "X: \(String(repeating: "y", count: 8000))\r\n"
        for text in [
            "HTTP/1.1 200 OK\r\n\(String(repeating: line, count: 5))",
            "HTTP/1.1 200 \(String(repeating: "y", count: 9000))",
            String(repeating: "HTTP/1.1 103 H\r\nLink: x\r\n\r\n", count: 33),
        ] {
            #expect(ResponseOutcome([Array(text.utf8)[...]]).error != nil)
        }
    }
}
