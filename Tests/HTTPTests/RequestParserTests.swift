@testable import HTTP
import Testing

@Suite struct RequestParserTests {
    private func one(_ text: String) throws -> Outcome.Message {
        let (outcome, differing) = parse(text)
        #expect(differing.isEmpty)
        #expect(outcome.error == nil)
        #expect(outcome.messages.count == 1)
        let message = try #require(outcome.messages.first)
        #expect(message.isWhole)
        return message
    }

    @Test func `a head keeps names, order and every value, and loses white space around values`() throws {
        let head = try one("GET / HTTP/1.1\r\nhOST:a:80\r\nX-A: \t one two \t\r\nx-a:\r\nX-A: é\r\n\r\n").head
        #expect(head.method == "GET")
        #expect(head.headers.fields.map(\.name) == ["hOST", "X-A", "x-a", "X-A"])
        #expect(head.headers.all("X-a") == ["one two", "", "é"])
        #expect(head.headers["HOST"] == "a:80")
        #expect(head.headers["Y"] == nil)
        #expect(head.framing == .none)
    }

    @Test func `a value that is not UTF-8 is read as Latin-1`() throws {
        let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX: caf".utf8) + [0xe9] + Array("\r\n\r\n".utf8)
        let outcome = parse(bytes).outcome
        #expect(outcome.messages.first?.head.headers["X"] == "café")
    }

    @Test func `methods are any token, in the case they came`() throws {
        #expect(try one("m-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n").head.method == "m-SEARCH")
    }

    struct TargetCase: Sendable {
        var target: String
        var path: String
        var query: [QueryItem] = []
        var method = "GET"
        var host = "a"
    }

    @Test(arguments: [
        TargetCase(target: "/", path: "/"),
        TargetCase(target: "/v1/models/a%2Fb%20c", path: "/v1/models/a/b c"),
        TargetCase(target: "/a?", path: "/a"),
        TargetCase(
            target: "/a+b?x=1+2&y&=z&x=%C3%A9&&q=a=b?c", path: "/a+b",
            query: [
                .init(name: "x", value: "1 2"), .init(name: "y", value: ""), .init(name: "", value: "z"),
                .init(name: "x", value: "é"), .init(name: "q", value: "a=b?c"),
            ]),
        TargetCase(target: "http://a:8080/p?q=1", path: "/p", query: [.init(name: "q", value: "1")], host: "A:8080"),
        TargetCase(target: "HTTPS://[::1]", path: "/", host: "[::1]"),
        TargetCase(target: "http://a?q", path: "/", query: [.init(name: "q", value: "")]),
        TargetCase(target: "*", path: "*", method: "OPTIONS"),
    ])
    func `targets are split and percent decoded, and kept as sent`(_ input: TargetCase) throws {
        let target = try one("\(input.method) \(input.target) HTTP/1.1\r\nHost: \(input.host)\r\n\r\n").head.target
        #expect(target.raw == input.target)
        #expect(target.path == input.path)
        #expect(target.query == input.query)
    }

    @Test(arguments: ["a", "a.b-c_d:1", "127.0.0.1:8080", "[::1]", "[fe80::1]:80", "a:"])
    func `hosts`(_ host: String) throws {
        #expect(try one("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").head.headers["Host"] == host)
    }

    @Test func `one empty line before a request is skipped`() throws {
        #expect(try one("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").head.target.path == "/")
    }

    @Test func `bodies of known length, leading zeros allowed`() throws {
        #expect(try one(request(["Content-Length: 0005"], "he\r\no")).text == "he\r\no")
        #expect(try one(request(["Content-Length: 0"])).body.isEmpty)
    }

    @Test func `chunks are joined, sizes in either case, extensions and trailers dropped`() throws {
        let body = "5\r\nhello\r\n0A ; name=\"v\";x\r\n, chunked \r\n1\r\n!\r\n000;last\r\nDigest: x\r\nY: z\r\n\r\n"
        let message = try one(request(["Transfer-Encoding: Chunked"], body))
        #expect(message.text == "hello, chunked !")
        #expect(message.head.headers["Digest"] == nil)
    }

    /// What a trailer says of framing or host came too late to count, and nothing may come back to it.
    @Test func `trailers never become headers`() throws {
        let trailers = ["Content-Length: 5", "Transfer-Encoding: gzip", "Host: b", "Authorization: Bearer x"]
        let body = (["1", "x", "0"] + trailers + ["", ""]).joined(separator: "\r\n")
        let head = try one(request(["Transfer-Encoding: chunked"], body)).head
        #expect(head.headers.fields.map(\.name) == ["Host", "Transfer-Encoding"])
        #expect(head.framing == .chunked)
    }

    @Test func `white space around a coding, tabs too, is none of it`() throws {
        #expect(try one(request(["Transfer-Encoding:\tchunked \t"], "0\r\n\r\n")).head.framing == .chunked)
    }

    @Test func `many tiny chunks are one body, and count towards its limit`() {
        var limits = Limits()
        limits.bodyBytes = 20_000
        let chunks = String(repeating: "1\r\nx\r\n", count: 20_000)
        let whole = Outcome(
            [Array(request(["Transfer-Encoding: chunked"], chunks + "0\r\n\r\n").utf8)[...]], limits: limits)
        #expect(whole.error == nil)
        #expect(whole.messages.first?.body.count == 20_000)
        let more = Outcome([Array(request(["Transfer-Encoding: chunked"], chunks + "1\r\n").utf8)[...]], limits: limits)
        #expect(more.error?.status == 413)
    }

    @Test func `pipelined requests come out in order`() {
        let text =
            request(["Content-Length: 3"], "one") + request(["Transfer-Encoding: chunked"], "3\r\ntwo\r\n0\r\n\r\n")
            + request([], method: "GET") + request(["Content-Length: 4"], "fou")
        let (outcome, differing) = parse(text)
        #expect(differing.isEmpty)
        #expect(outcome.error == nil)
        #expect(outcome.messages.map(\.text) == ["one", "two", "", "fou"])
        #expect(outcome.messages.map(\.isWhole) == [true, true, true, false])
    }

    @Test func `a good request before a bad one is still a request`() {
        let (outcome, differing) = parse(request([], method: "GET") + "rubbish\r\n")
        #expect(differing.isEmpty)
        #expect(outcome.messages.map(\.isWhole) == [true])
        #expect(outcome.error?.status == 400)
    }

    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: x, CLOSE\r\n", false), ("HTTP/1.1", "Connection: x-close\r\n", true),
        ("HTTP/1.0", "", false), ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
        ("HTTP/1.0", "Connection: keep-alive\r\nConnection: close\r\n", false),
    ])
    func `whether the connection stays open`(_ version: String, _ header: String, _ expected: Bool) throws {
        #expect(try one("GET / \(version)\r\nHost: a\r\n\(header)\r\n").head.keepAlive == expected)
    }

    @Test func `expectations`() throws {
        #expect(try one(request(["Expect: 100-Continue", "Content-Length: 1"], "x")).head.expectsContinue)
        #expect(try !one(request(["Content-Length: 1"], "x")).head.expectsContinue)
        #expect(try !one("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").head.expectsContinue)
    }

    /// With a rescan on each byte this would look at 10^10 bytes.
    @Test(.timeLimit(.minutes(1))) func `bytes that drip in are looked at once`() throws {
        var limits = Limits()
        limits.headerBytes = 1 << 20
        let value = String(repeating: "x", count: 400_000)
        let bytes = Array(request(["X: \(value)", "Content-Length: 400000"], value).utf8)
        let outcome = Outcome(bytes.indices.map { bytes[$0...$0] }, limits: limits)
        #expect(outcome.messages.first?.body.count == 400_000)
    }

    /// 4000 mutations of good requests: none may trap, and none may depend on how it is cut.
    @Test func `mutated requests never trap and never depend on cuts`() async {
        let seeds = [
            request(["Transfer-Encoding: chunked", "X: y"], "5;a=b\r\nhello\r\n0\r\nT: u\r\n\r\n"),
            request(["Content-Length: 5", "Connection: close"], "hello") + "GET http://b/%41?c=d HTTP/1.0\r\n\r\n",
        ].map { Array($0.utf8) }
        let spice = Array("\r\n\0:; \t0123456789abcdefx%/?#-+,*\u{7f}é".utf8)
        var random = SystemRandomNumberGenerator()
        for round in 0..<4000 {
            await Task.yield()  // leaves the thread to the tests that wait for something
            var bytes = seeds[round % seeds.count]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let at = bytes.indices.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[at] = spice.randomElement(using: &random) ?? 0
                case 1: bytes.insert(spice.randomElement(using: &random) ?? 0, at: at)
                case 2: bytes.remove(at: at)
                default: bytes.insert(contentsOf: bytes[at...].prefix(12), at: at)
                }
            }
            let whole = Outcome([bytes[...]])
            let cut = bytes.indices.randomElement(using: &random) ?? 0
            #expect(Outcome([bytes[..<cut], bytes[cut...]]) == whole, "\(bytes)")
            #expect(Outcome(bytes.indices.map { bytes[$0...$0] }) == whole, "\(bytes)")
        }
    }
}
