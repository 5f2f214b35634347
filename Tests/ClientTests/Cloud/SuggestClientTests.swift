import Foundation
import HTTP
import Testing

@testable import Client

@Suite("Autocompletion")
struct SuggestClientTests {
    private static let product = UUID()

    /// The app's server and the shim in one.
    private static func answer(_ request: Request) -> Response {
        guard request.path == "/api/auth/token" else {
            return .json(#"{"suggestions": [{"text": " upon a time"}, {"text": " more"}]}"#)
        }
        guard request.headers["Authorization"] == "Bearer sk_v1_secret" else {
            return .json(#"{"error": {"code": "INVALID_SECRET_KEY", "message": "no"}}"#, status: 401)
        }
        #expect(
            String(decoding: request.body.bytes ?? [], as: UTF8.self)
                == #"{"product_id":"\#(product.uuidString.lowercased())"}"#)
        return .json(#"{"access_token": "at_v1_x", "expires_at": 4000000000, "token_type": "Bearer"}"#)
    }

    @Test
    func `with a public key, which other headers do not replace`() async throws {
        let requests = Record<Request>()
        let texts = try await withServer({ request in
            requests.add(request)
            return Self.answer(request)
        }) { url in
            let client = try SuggestClient(
                baseURL: url, access: .publicKey("pk_v1_open"), appIdentifier: "com.example.app",
                headers: ["authorization": "Bearer other", "X-Version": "7"])
            return try await client.suggestions(for: "Once", most: 2, user: "u1")
        }
        #expect(texts == [" upon a time", " more"])
        let request = try #require(requests.all.first)
        #expect(request.target == "/api/suggest")
        #expect(request.headers.all("Authorization") == ["Bearer pk_v1_open"])
        #expect(request.headers["X-App-Identifier"] == "com.example.app")
        #expect(request.headers["X-Version"] == "7")
        #expect(
            String(decoding: request.body.bytes ?? [], as: UTF8.self)
                == #"{"max_suggestions":2,"text":"Once","user":"u1"}"#)
    }

    @Test(arguments: [
        (SuggestClient.Access.basic("pk_v1_open"), "Basic cGtfdjFfb3Blbjo="),
        (.fixedToken("at_v1_x"), "Bearer at_v1_x"),
    ])
    func `by the scheme and at the path that the app says`(access: SuggestClient.Access, sent: String) async throws {
        let requests = Record<Request>()
        try await withServer({ request in
            requests.add(request)
            return Self.answer(request)
        }) { url in
            let client = try SuggestClient(baseURL: url, path: "/v2/complete", access: access)
            #expect(try await client.suggestions(for: "Once").count == 2)
        }
        #expect(requests.all.map { $0.headers.all("Authorization") } == [[sent]])
        #expect(requests.all.map(\.target) == ["/v2/complete"])
        #expect(throws: SuggestClient.SecretKeyRefused.self) {
            try SuggestClient(baseURL: URL(string: "http://localhost")!, access: .basic("sk_v1_x"))
        }
    }

    @Test
    func `with tokens from the app's server, one for all calls at once`() async throws {
        let requests = Record<Request>()
        try await withServer({ request in
            requests.add(request)
            return Self.answer(request)
        }) { url in
            let client = try SuggestClient(
                baseURL: url,
                access: .token {
                    let token = try await AccessToken(server: url, secretKey: "sk_v1_secret", productID: Self.product)
                    #expect(token.expiresAt == 4_000_000_000_000)
                    return token
                })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { _ = try await client.suggestions(for: "Once") } }
                try await group.waitForAll()
            }
        }
        #expect(requests.all.filter { $0.target == "/api/auth/token" }.count == 1)
        let shown = requests.all.filter { $0.target == "/api/suggest" }.map { $0.headers["Authorization"] }
        #expect(shown == [String?](repeating: "Bearer at_v1_x", count: 4))
    }

    @Test
    func `a secret key does not leave an app`() async throws {
        let requests = Record<Request>()
        try await withServer({ request in
            requests.add(request)
            return Self.answer(request)
        }) { url in
            #expect(throws: SuggestClient.SecretKeyRefused.self) {
                try SuggestClient(baseURL: url, access: .publicKey("sk_v1_secret"))
            }
            let client = try SuggestClient(
                baseURL: url, access: .token { AccessToken(token: "sk_v1_secret", expiresAt: .max) })
            await #expect(throws: SuggestClient.SecretKeyRefused.self) { try await client.suggestions(for: "Once") }
        }
        #expect(requests.all.isEmpty)
    }

    @Test
    func `a wrong secret key is said to be one`() async throws {
        let log = Record<String>()
        try await withServer({ Self.answer($0) }) { url in
            await #expect(throws: APIClientError.unAuthorized(code: 401)) {
                try await AccessToken(server: url, secretKey: "sk_v1_other", productID: Self.product) { log.add($0) }
            }
        }
        #expect(log.text.contains("INVALID_SECRET_KEY"))
    }
}
