import Cryptography
public import Foundation
import JSON
import Wire

extension APIClient {
    /// A client for the chat app: requests are signed with a session token, which is fetched from `/auth_token` with
    /// the app's auth key, stored across runs, and renewed when it expires or is refused.
    ///
    /// - Parameters:
    ///   - authKey: The app's auth key.
    ///   - store: Stores the token.
    public init(
        baseURL: URL, authKey: String, store: any SecretStore, patience: Duration = .seconds(120),
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.init(baseURL, authKey: authKey, store: store, patience, Pauses(), log)
    }

    init(
        _ baseURL: URL, authKey: String, store: any SecretStore, _ patience: Duration = .seconds(120),
        _ pauses: Pauses, _ log: @escaping @Sendable (String) -> Void
    ) {
        let session = StoredSession(store: store, server: baseURL, authKey: authKey, log: log)
        let bootstrap = APIClient(baseURL, .signature(key: authKey), [:], patience, pauses, log)
        let tokens = TokenCache(session.token) {
            let answer = try await bootstrap.post("/auth_token", SessionRequest(), as: SessionAnswer.self)
            let token = AccessToken(token: answer.token, expiresAtSeconds: answer.expiresAt)
            session.keep(token)
            return token
        }
        self.init(baseURL, .signature(tokens: tokens), [:], patience, pauses, log)
    }
}

/// The nonce makes requests unique: two copies of an app that start in the same second would otherwise send the same
/// signature, and one would be refused as a replay.
private struct SessionRequest: Encodable {
    let nonce = randomBytes(16).hexadecimal
}

private struct SessionAnswer: Decodable {
    let token: String
    /// Seconds since 1970.
    let expiresAt: Double

    enum CodingKeys: String, CodingKey {
        case token
        case expiresAt = "expires_at"
    }
}

/// Stores an app's session token. Failures are logged; the app then fetches a new token in its next run.
private struct StoredSession {
    let store: any SecretStore
    let name: String
    let log: @Sendable (String) -> Void

    init(store: any SecretStore, server: URL, authKey: String, log: @escaping @Sendable (String) -> Void) {
        self.store = store
        self.log = log
        // Several apps of a user may share a store, so the name includes the app.
        let app = SHA256.digest(of: "session\(authKey)".utf8).hexadecimal.prefix(16)
        name = "session-\(server.host() ?? "")-\(server.port ?? 0)-\(app)"
    }

    var token: AccessToken? {
        do {
            return try store.secret(named: name).map { try JSON.decode(AccessToken.self, from: $0) }
        } catch {
            log("The session that was kept cannot be used: \((error as? APIError)?.message ?? "\(error)")")
            return nil
        }
    }

    func keep(_ token: AccessToken) {
        do {
            try store.keep(try JSON.encode(token), named: name, until: token.expiry)
        } catch {
            log("The session cannot be kept: \(error)")
        }
    }
}
