import Cryptography
import Foundation
import HTTP
import Testing
import Wire

@testable import Client

@Suite("Authorization")
struct AuthorizationTests {
    private func request(_ authorization: Authorization, headers: [String: String] = [:]) async throws -> Request {
        let requests = Record<Request>()
        try await withServer({ request in
            requests.add(request)
            return .json("{}")
        }) { url in
            let client = APIClient(baseURL: url, authorization: authorization, headers: headers)
            _ = try await client.post("/v1/a b", ["text": "é"], as: [String: String].self)
        }
        return try #require(requests.all.first)
    }

    @Test
    func `a partner's signature is over its id, the method, the path, the body and the time`() async throws {
        let request = try await request(.partner(identity: "shop", secret: "s3cret"))
        let nonce = try #require(request.headers["X-Nonce"])
        #expect(request.headers["X-Api-Id"] == "shop")
        #expect(abs(Date().timeIntervalSince1970 - (Double(nonce) ?? 0)) < 60)
        let message = "shopPOST/v1/a%20b" + #"{"text":"é"}"# + nonce
        #expect(request.headers["X-Signature"] == hmacSHA256(message.utf8, key: "s3cret".utf8).hexadecimal)
    }

    @Test
    func `a key is shown as OpenAI's API has it, and other headers do not replace it`() async throws {
        let request = try await request(.bearer("abc"), headers: ["authorization": "Bearer x", "X-More": "1"])
        #expect(request.headers.all("Authorization") == ["Bearer abc"])
        #expect(request.headers["X-More"] == "1")
        #expect(request.headers["Content-Type"] == "application/json")
    }
}
