import Cryptography
import Foundation
import HTTP
import Synchronization
import Wire

@testable import Client

/// A backend as the chat app's contract describes it, which checks signatures by itself.
final class FakeBackend: Sendable {
    static let authKey = "app-key"

    struct State {
        var tokens: [String] = []
        var lifetime = 900.0
        var requests: [Request] = []
        var seen: Set<String> = []
        var refusals: [String] = []
    }

    let state = Mutex(State())
    private let answer: @Sendable (Request) async throws -> Response

    /// - Parameter answer: To requests that are signed as they should be.
    init(
        answer: @escaping @Sendable (Request) async throws -> Response = { _ in
            .json(#"{"role": "assistant", "content": "Hello."}"#)
        }
    ) { self.answer = answer }

    var requests: [Request] { state.withLock { $0.requests } }
    var refusals: [String] { state.withLock { $0.refusals } }
    func count(_ target: String) -> Int { requests.filter { $0.target == target }.count }

    /// From now on no token is good that was given out before.
    func revokeAll() { state.withLock { $0.tokens = [] } }

    func handle(_ request: Request) async throws -> Response {
        let refusal = state.withLock { state in
            state.requests.append(request)
            let keys = request.path == "/auth_token" ? [Self.authKey] : state.tokens
            let refusal = refuse(request, keys, &state)
            if let refusal { state.refusals.append(refusal) }
            return refusal
        }
        if refusal != nil { return .json(#"{"error": {"message": "not accepted"}}"#, status: 401) }
        return request.path == "/auth_token" ? newToken() : try await answer(request)
    }

    private func newToken() -> Response {
        state.withLock { state in
            let token = "token-\(state.tokens.count)-\(randomBytes(8).hexadecimal)"
            state.tokens.append(token)
            let expiry = Int(Date().timeIntervalSince1970 + state.lifetime)
            return .json(#"{"token": "\#(token)", "expires_at": \#(expiry)}"#)
        }
    }

    private func refuse(_ request: Request, _ keys: [String], _ state: inout State) -> String? {
        guard let signature = request.headers["x-signature"], let time = request.headers["x-timestamp"] else {
            return "no signature"
        }
        guard let seconds = Double(time), abs(Date().timeIntervalSince1970 - seconds) < 300 else { return "too old" }
        let canonical =
            "\(request.method)\n\(request.target)\n\(time)\n\(SHA256.digest(of: request.body.bytes ?? []).hexadecimal)"
        guard keys.contains(where: { hmacSHA256(canonical.utf8, key: $0.utf8).hexadecimal == signature }) else {
            return "wrong signature"
        }
        return state.seen.insert(signature).inserted ? nil : "replay"
    }
}

extension APIClient {
    /// A client of a backend, without long pauses.
    init(
        _ baseURL: URL, authKey: String = FakeBackend.authKey, store: any SecretStore = MemorySecretStore(),
        log: Record<String> = Record()
    ) {
        self.init(baseURL, authKey: authKey, store: store, .seconds(120), .short) { log.add($0) }
    }
}
