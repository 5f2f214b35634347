import Foundation
import HTTP
import Synchronization
import TestSupport
import Wire

@testable import AppGateway
@testable import Shim

/// A clock that tests set.
final class TestClock: Sendable {
    private let seconds: Mutex<Int>

    init(_ seconds: Int = 1_800_000_000) { self.seconds = Mutex(seconds) }

    var now: Int {
        get { seconds.withLock { $0 } }
        set { seconds.withLock { $0 = newValue } }
    }
}

/// A server's front door with one client of each kind, its secrets and its clock.
struct ClientFixture: Sendable {
    static let product = "5b1e4f0a-6f0c-4b8e-9a53-0f2f3f1f7a10"
    static let secrets = [
        "APP_KEY": "app-auth-key", "APP_KEY_2": "other-auth-key", "SECRET_KEY": "sk_v1_secret",
        "PUBLIC_KEY": "pk_v1_public",
        "PARTNER_SECRET": "partner-secret",
    ]

    let clock: TestClock
    let access: ClientAccess
    let door: FrontDoor

    /// - Parameters:
    ///   - app: More fields of the app, and so on; JSON.
    ///   - stateFile: Where sessions and signatures are kept.
    init(
        app: String = "", product: String = "", endpoints: String = "", stateFile: String? = nil, keys: APIKeys? = nil,
        engine: ScriptedLanguageModel = ScriptedLanguageModel(), clock: TestClock = TestClock()
    ) throws {
        self.clock = clock
        access = try ClientAccess(
            Self.configuration(app: app, product: product, endpoints: endpoints, stateFile: stateFile)
        ) { clock.now }
        let router = router(engine)
        door = FrontDoor(keys: try keys ?? apiKeys(), clients: access, origins: .init()) {
            try await runHandler($0, router)
        }
    }

    static func configuration(
        app: String = "", product: String = "", endpoints: String = "", stateFile: String? = nil
    ) throws -> ClientConfiguration {
        try clientConfiguration(
            """
            {"apps": [{"id": "chat", "auth_key": {"env": "APP_KEY"}\(app)},
                      {"id": "other", "auth_key": {"env": "APP_KEY_2"}}],
             "products": [{"id": "\(Self.product)", "secret_key": {"env": "SECRET_KEY"},
                           "public_key": {"env": "PUBLIC_KEY"}\(product)}],
             "partners": [{"id": "acme", "secret": {"env": "PARTNER_SECRET"}}], "endpoints": [\(endpoints)]
             \(stateFile.map { #", "state_file": "\#($0)""# } ?? "")}
            """, environment: Self.secrets)
    }

    func send(
        method: String = "POST", _ target: String, _ body: String = "", _ headers: Headers, peer: String = ""
    ) async throws -> Answer {
        let path = target.split(separator: "?").first.map(String.init) ?? target
        let request = Request(
            method: method, target: target, path: path.removingPercentEncoding ?? path, headers: headers,
            body: Array(body.utf8), peer: peer)
        let response = try await door.respond(to: request)
        guard case .bytes(let bytes) = response.body else { throw CancellationError() }
        return Answer(status: response.status, headers: response.headers, bytes: bytes)
    }

    /// The headers of a request that is signed as the app does it.
    func signed(
        method: String = "POST", _ path: String, _ body: String = "", key: String, skew: Int = 0
    ) -> Headers {
        let time = "\(clock.now + skew)"
        let signature = RequestSignature.signature(
            method: method, path: path, timestamp: time, body: Array(body.utf8), key: key)
        return ["x-signature": signature, "x-timestamp": time]
    }

    func partnerSigned(
        method: String = "POST", _ path: String, _ body: String = "", secret: String = "partner-secret",
        id: String = "acme", skew: Int = 0
    ) -> Headers {
        let time = "\(clock.now + skew)"
        let signature = PartnerSignature.signature(
            identity: id, method: method, path: path, body: Array(body.utf8), nonce: time, secret: secret)
        return ["X-Api-Id": id, "X-Nonce": time, "X-Signature": signature]
    }

    /// A session's token; each call must be in another second, or be another request.
    func session(_ body: String = "", key: String = "app-auth-key") async throws -> String {
        let answer = try await send("/auth_token", body, signed("/auth_token", body, key: key))
        return answer.json["token"] as? String ?? ""
    }

    /// The status of a prompt that is signed with a session's token.
    func prompt(_ text: String = "Hi", token: String) async throws -> Int {
        let body = #"{"prompt":"\#(text)"}"#
        return try await send("/chatgpt-simple", body, signed("/chatgpt-simple", body, key: token)).status
    }
}

func clientConfiguration(_ json: String, environment: [String: String] = [:]) throws -> ClientConfiguration {
    let directory = try TemporaryDirectory()
    let file = try directory.write(Array(json.utf8), as: "clients.json")
    return try withExtendedLifetime(directory) { try ClientConfiguration(file: file, environment: environment) }
}
