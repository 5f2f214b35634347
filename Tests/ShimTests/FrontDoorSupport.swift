import CommandLineParsing
import Foundation
import HTTP
import TestSupport

@testable import AppGateway
@testable import Shim

/// Keys as a file would give them.
func apiKeys(_ keys: String...) throws -> APIKeys {
    guard !keys.isEmpty else { return try APIKeys(file: nil, variable: nil) }
    let directory = try TemporaryDirectory()
    let file = try directory.write(Array(keys.joined(separator: "\n").utf8), as: "keys")
    return try withExtendedLifetime(directory) { try APIKeys(file: file, variable: nil) }
}

func accessOptions(
    _ arguments: String..., host: String = "127.0.0.1", hasAuthenticator: Bool = false,
    environment: [String: String] = [:]
) throws(UsageError) -> AccessOptions {
    try AccessOptions(
        Arguments(arguments, options: AccessOptions.all), host: host,
        hasAuthenticator: hasAuthenticator, environment: environment)
}

extension FrontDoor {
    /// With all routes of the program.
    init(
        keys: APIKeys, clients: ClientAccess? = nil, origins: OriginPolicy, logsPrompts: Bool = false,
        limiter: RateLimiter? = nil, seesImages: Bool = false,
        next: @escaping @Sendable (RequestContext) async throws -> Response
    ) {
        self.init(
            keys: keys, authenticator: clients, routes: { clients?.routes ?? .all }, origins: origins,
            logsPrompts: logsPrompts, limiter: limiter, seesImages: seesImages, next: next)
    }

    /// Before routes that answer 200 to everything.
    init(keys: APIKeys, origins: OriginPolicy = .init(), logsPrompts: Bool = false) {
        self.init(keys: keys, origins: origins, logsPrompts: logsPrompts) {
            .text("\($0.request.method) \($0.request.path)")
        }
    }

    /// The answer to a request that goes no further than the routes.
    func answer(_ method: String, _ path: String, _ headers: Headers = [:]) async throws -> Answer {
        let response = try await respond(to: Request(method: method, target: path, path: path, headers: headers))
        guard case .bytes(let bytes) = response.body else { throw CancellationError() }
        return Answer(status: response.status, headers: response.headers, bytes: bytes)
    }
}

extension RequestContext {
    /// With all routes of the program.
    init(_ request: Request, principal: Principal? = nil) {
        self.init(request, routes: .all, principal: principal)
    }
}

/// A log that goes to a file, which is open until the tests end.
func requestLog(to file: String, form: RequestLog.Form = .json) -> RequestLog {
    RequestLog(LogWriter(open(file, O_WRONLY | O_APPEND)), form: form)
}

/// Runs a server with the Shim's error bodies on a free port.
func withServer<T: Sendable>(
    _ handler: @escaping Server.Handler, limits: Limits = .init(), log: RequestLog? = nil,
    _ body: (UInt16) async throws -> T
) async throws -> T {
    var limits = limits
    limits.bodyBytes = RouteTable.all.bodyLimit(seesImages: true)
    let server = try await Server.start(
        .init(
            host: "127.0.0.1", port: 0, limits: limits, errorResponse: errorResponse, makeNotes: { RequestTrace() },
            log: log?.write),
        handler: handler)
    do {
        let result = try await body(server.port)
        await server.stop(within: .zero)
        return result
    } catch {
        await server.stop(within: .zero)
        throw error
    }
}
