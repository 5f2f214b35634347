public import Foundation
import Wire

/// Client of the autocomplete API.
public struct SuggestClient: Sendable {
    /// Credentials of an app.
    public enum Access: Sendable {
        /// `pk_v1_…`, which every copy of the app has.
        case publicKey(String)
        /// A public key, sent as the user name of `Authorization: Basic`.
        case basic(String)
        /// A token that the app replaces itself when it expires.
        case fixedToken(String)
        /// Fetches a token from the app's own server, which has the secret key; see
        /// `AccessToken.init(server:secretKey:productID:)`. Cached until 30 seconds before it expires; concurrent
        /// requests share one fetch.
        case token(@Sendable () async throws -> AccessToken)
    }

    /// A secret key was given to the client. It must not be in an app.
    public struct SecretKeyRefused: LocalizedError, Equatable, Sendable {
        public var errorDescription: String? {
            "A secret key (sk_…) belongs on a server. Give the app a public key (pk_v1_…), or tokens from its server."
        }
    }

    private let client: APIClient
    private let path: String

    /// - Parameters:
    ///   - path: Path of the endpoint.
    ///   - appIdentifier: Value of the header `X-App-Identifier`; `nil`: not sent.
    ///   - headers: Additional headers of every request; `Authorization` is not replaced.
    ///   - log: Called with a line for each error.
    /// - Throws: `SecretKeyRefused`.
    public init(
        baseURL: URL, path: String = "/api/suggest", access: Access, appIdentifier: String? = nil,
        headers: [String: String] = [:],
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(SecretKeyRefused) {
        var headers = headers
        headers["X-App-Identifier"] = appIdentifier
        let authorization: Authorization
        switch access {
        case .publicKey(let key):
            try Self.check(key)
            authorization = .bearer(key)
        case .basic(let key):
            try Self.check(key)
            authorization = .basic(key)
        case .fixedToken(let token):
            try Self.check(token)
            authorization = .bearer(token)
        case .token(let provider):
            authorization = .bearer(
                tokens: TokenCache {
                    let token = try await provider()
                    try Self.check(token.token)
                    return token
                })
        }
        client = APIClient(baseURL: baseURL, authorization: authorization, headers: headers, log: log)
        self.path = path
    }

    /// - Parameters:
    ///   - text: Text before the cursor.
    ///   - user: The app's id of the user, whose next request cancels this one.
    /// - Returns: Texts to append, the most likely first.
    /// - Throws: `APIClientError`, `SecretKeyRefused`, `CancellationError`, or the error of the token provider.
    public func suggestions(for text: String, most: Int = 3, user: String? = nil) async throws -> [String] {
        let request = SuggestionRequest(text: text, maxSuggestions: most, user: user)
        return try await client.post(path, request, as: Suggestions.self).suggestions.map(\.text)
    }

    private static func check(_ key: String) throws(SecretKeyRefused) {
        if key.utf8.starts(with: "sk_".utf8) { throw SecretKeyRefused() }
    }
}

extension AccessToken {
    /// Requests a token with the secret key. For an app's server only: no app should have the secret key.
    ///
    /// - Throws: `APIClientError`, `CancellationError`.
    public init(
        server: URL, secretKey: String, productID: UUID, log: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        let client = APIClient(baseURL: server, authorization: .bearer(secretKey), log: log)
        let request = ["product_id": productID.uuidString.lowercased()]
        let answer = try await client.post("/api/auth/token", request, as: TokenAnswer.self)
        self.init(token: answer.accessToken, expiresAtSeconds: answer.expiresAt)
    }
}

private struct TokenAnswer: Decodable {
    let accessToken: String
    /// Seconds since 1970.
    let expiresAt: Double

    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case expiresAt = "expires_at"
    }
}

private struct SuggestionRequest: Encodable {
    let text: String
    let maxSuggestions: Int
    let user: String?

    enum CodingKeys: String, CodingKey {
        case text, user
        case maxSuggestions = "max_suggestions"
    }
}
