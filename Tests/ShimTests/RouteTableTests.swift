import HTTP
import Testing
import Synchronization
import Wire
import Tokenizer
import TestSupport
import Foundation
import CommandLineParsing

@testable import AppGateway
@testable import Shim

@Suite struct RouteTableTests {
    @Test(
        arguments: [
            ("/v1/models", "/v1/models", [:]), ("/v1/models/{id*}", "/v1/models/a/b", ["id": "a/b"]),
            ("/v1/models/{id*}", "/v1/models/", nil), ("/v1/responses/{id}", "/v1/responses/x", ["id": "x"]),
            ("/v1/responses/{id}", "/v1/responses/x/y", nil), ("/v1/responses/{id}", "/v1/responses/", nil),
            ("/r/{id}/items", "/r/7/items", ["id": "7"]), ("/r/{id}/items", "/r/7/item", nil),
            ("/r/{id}/items", "/r//items", nil), ("/a", "/a/", nil), ("/caf\u{e9}", "/cafe\u{301}", nil),
        ] as [(String, String, [String: String]?)])
    func `a pattern matches bytes, and a placeholder at least one`(
        _ pattern: String, _ path: String, _ values: [String: String]?
    ) {
        #expect(PathPattern(stringLiteral: pattern).match(path) == values)
    }

    @Test func `no two rows answer the same method and path`() {
        var seen: Set<String> = []
        for route in RouteTable.all.routes {
            for path in route.paths { #expect(seen.insert("\(route.method) \(path.text)").inserted, "\(path.text)") }
        }
    }

    @Test func `only health checks and the page are open to everyone`() {
        let open = RouteTable.all.routes.filter { $0.access == .everyone }.map(\.name)
        #expect(open.sorted() == ["/", "/health", "/ready"])
    }

    @Test func `a body beyond its route's limit is a 413 that names both sizes`() async {
        let body = String(repeating: " ", count: 1 << 20) + #"{"text": "x"}"#
        let answer = await router(ScriptedLanguageModel()).answer("POST", "/api/suggest", body)
        #expect(answer.status == 413)
        #expect(answer.error["code"] as? String == "request_too_large")
        let message = answer.error["message"] as? String ?? ""
        #expect(message.contains("\(1 << 20) bytes") && message.contains("\(body.utf8.count)"))
    }

    @Test func `a handler gets the values of its path's placeholders`() async throws {
        let route = Route("GET", "/colors/{name}/{rest*}") { context, _ in
            .text(context.parameter("name") + " " + context.parameter("rest") + context.parameter("none"))
        }
        let table = RouteTable([route])
        let request = Request(method: "HEAD", target: "/", path: "/colors/red/a/b")
        let response = try await runHandler(RequestContext(request, routes: table), router(ScriptedLanguageModel()))
        guard case .bytes(let bytes) = response.body else { throw Broken() }
        #expect(String(decoding: bytes, as: UTF8.self) == "red a/b")
    }
}
