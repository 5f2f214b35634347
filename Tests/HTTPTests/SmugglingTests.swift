import HTTP
import TestSupport
import Testing

/// The tricks of request smuggling over a socket: a second request hidden behind a first that ends somewhere else for
/// another reader of the same bytes. Whatever the first is worth, the second must not be answered.
@Suite(.timeLimit(.minutes(2))) struct SmugglingTests {
    private static let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\nX: "

    struct Trick: Sendable, CustomTestStringConvertible {
        var name: String
        var lines: [String]
        var body = "0\r\n\r\n" + SmugglingTests.hidden
        var testDescription: String { name }
    }

    @Test(arguments: [
        Trick(name: "CL.TE", lines: ["Content-Length: 4", "Transfer-Encoding: chunked"]),
        Trick(name: "TE.CL", lines: ["Transfer-Encoding: chunked", "Content-Length: 4"]),
        Trick(name: "two lengths", lines: ["Content-Length: 0", "Content-Length: 40"], body: hidden),
        Trick(name: "plus", lines: ["Content-Length: +0"], body: hidden),
        Trick(name: "folded", lines: ["X: y", " Transfer-Encoding: chunked"]),
        Trick(name: "space before colon", lines: ["Transfer-Encoding : chunked"]),
        Trick(name: "bare LF", lines: ["X: y\nTransfer-Encoding: chunked"]),
        Trick(name: "NUL", lines: ["X: \0", "Content-Length: 0"], body: hidden),
        Trick(name: "hex length", lines: ["Content-Length: 0x0"], body: hidden),
        Trick(name: "chunked, identity", lines: ["Transfer-Encoding: chunked, identity"]),
        Trick(name: "chunked twice", lines: ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]),
        Trick(name: "0x in a chunk", lines: ["Transfer-Encoding: chunked"], body: "0x0\r\n\r\n" + hidden),
        Trick(name: "LF chunk", lines: ["Transfer-Encoding: chunked"], body: "0\n\n" + hidden),
        Trick(
            name: "trailer", lines: ["Transfer-Encoding: chunked"], body: "0\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
        ),
    ])
    func `is refused, and nothing after it is read`(_ trick: Trick) async throws {
        let text = try await withServer(echo) {
            try await exchange($0, request(trick.lines, trick.body) + "\r\n\r\n" + getAndClose)
        }
        #expect(statuses(text) == [400])
        #expect(text.contains("Connection: close\r\n"))
    }

    @Test func `a body is not read as a request, however it looks`() async throws {
        let body = Self.hidden + "\r\n\r\n"
        let text = try await withServer(echo) {
            try await exchange(
                $0, request(["Content-Length: \(body.utf8.count)"], body, method: "GET") + getAndClose)
        }
        #expect(statuses(text) == [200, 200])
        #expect(text.hasSuffix("\r\n\r\nGET / "))
    }

    @Test func `HTTP 1_0 with a length can be kept, and is answered as such`() async throws {
        let kept = "POST /a HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc"
        let text = try await withServer(echo) { try await exchange($0, kept + "GET /b HTTP/1.0\r\n\r\n") }
        #expect(statuses(text) == [200, 200])
        #expect(text.contains("POST /a abcHTTP/1.1 200"))
    }
}
