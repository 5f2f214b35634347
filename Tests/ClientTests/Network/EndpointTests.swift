import Foundation
import HTTP
import Testing
import Wire

@testable import Client

@Suite struct EndpointTests {
    private func endpoint(_ base: String, _ path: String = "/a") throws -> Endpoint {
        try Endpoint(path, of: try #require(URL(string: base)), silence: .seconds(7))
    }

    @Test(arguments: [
        ("http://a.example", "a.example", 80, false), ("HTTPS://a.example/", "a.example", 443, true),
        ("https://a.example:8443", "a.example", 8443, true), ("http://[::1]:8080", "::1", 8080, false),
    ])
    func `the address says whom to ask, and whether over TLS`(
        base: String, host: String, port: Int, usesTLS: Bool
    ) throws {
        let endpoint = try endpoint(base)
        #expect(endpoint.server.host == host)
        #expect(Int(endpoint.server.port) == port)
        #expect((endpoint.server.trust != nil) == usesTLS)
        #expect(endpoint.server.limits.silence == .seconds(7))
    }

    @Test(arguments: [
        ("http://a", "/chatgpt", "/chatgpt"), ("http://a/base/", "/chatgpt", "/base/chatgpt"),
        ("http://a/base?x=1#y", "/ü/a b", "/base/%C3%BC/a%20b"), ("http://a", "/a?b", "/a%3Fb"),
    ])
    func `the path is that of the server and the call's, as it is sent`(base: String, path: String, sent: String) throws
    {
        #expect(try endpoint(base, path).path == sent)
    }

    @Test func `over TLS nothing is sent to a server that has none`() async throws {
        let (log, requests) = (Record<String>(), Record<String>())
        try await withServer({ request in
            requests.add(request.target)
            return .json("{}")
        }) { url in
            let secure = try #require(URL(string: "https://127.0.0.1:\(url.port ?? 0)"))
            let client = APIClient(secure, .bearer("key"), [:], .seconds(120), .short) { log.add($0) }
            await #expect(throws: APIClientError.noResponse) {
                try await client.post("/chatgpt", ["prompt": "Hi"], as: RoleAndContent.self)
            }
        }
        #expect(requests.all.isEmpty)
        #expect(log.text.contains("TLS"))
    }
}
