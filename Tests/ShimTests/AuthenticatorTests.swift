import HTTP
import Testing
import Wire

@testable import Shim

/// Knows users by a header.
private struct BadgeAuthenticator: Authenticator {
    static let guest = Credentials(rawValue: Credentials.firstOwn)

    func coversBody(_ request: Request) -> Bool { false }

    func principal(of request: Request, accepting accepted: Credentials) throws(APIError) -> Principal? {
        guard let badge = request.headers["X-Badge"] else { return nil }
        guard accepted.contains(badge == "guest" ? Self.guest : .user) else { throw refused }
        return Principal(kind: .init("badge"), id: badge)
    }

    func refusal(accepting accepted: Credentials) -> APIError? { accepted.contains(Self.guest) ? refused : nil }

    private var refused: APIError {
        APIError(status: 403, kind: .invalidRequest, message: "Show a badge.", code: "no_badge")
    }
}

@Suite struct AuthenticatorTests {
    private static let routes = RouteTable([
        Route("GET", "/v1/models") { context, _ in .text(context.principal?.id ?? "") },
        Route("GET", "/lobby", access: .clients([.apiKey, BadgeAuthenticator.guest])) { context, _ in .text("") },
    ])

    private static func door(_ keys: String...) throws -> FrontDoor {
        FrontDoor(
            keys: keys.isEmpty ? try apiKeys() : try apiKeys(keys[0]), authenticator: BadgeAuthenticator(),
            routes: { routes }, origins: .init()
        ) { try await runHandler($0, router(ScriptedLanguageModel())) }
    }

    @Test(
        arguments: [
            ("/v1/models", "kim", 200, nil), ("/v1/models", "guest", 403, "no_badge"),
            ("/lobby", "guest", 200, nil), ("/lobby", "kim", 403, "no_badge"),
            ("/lobby", nil, 403, "no_badge"), ("/v1/models", nil, 401, "invalid_api_key"),
            ("/chatgpt", "kim", 404, "unknown_url"),
        ] as [(String, String?, Int, String?)])
    func `a server takes its routes and who may use them from outside`(
        _ path: String, _ badge: String?, _ status: Int, _ code: String?
    ) async throws {
        let answer = try await Self.door().answer("GET", path, badge.map { ["X-Badge": $0] } ?? [:])
        #expect(answer.status == status)
        if let code { #expect(answer.error["code"] as? String == code) }
    }

    @Test func `API keys are valid beside an authenticator`() async throws {
        let door = try Self.door("sk-one")
        #expect(try await door.answer("GET", "/lobby", ["Authorization": "Bearer sk-one"]).status == 200)
        #expect(try await door.answer("GET", "/lobby").status == 401)
        #expect(try await door.answer("GET", "/lobby", ["X-Badge": "guest"]).status == 200)
    }
}
