import HTTP
import Wire

/// What a request passes before a route sees it: whether a foreign page caused it, and whether it shows a key.
struct FrontDoor: Sendable {
    var keys: APIKeys
    /// Those that sign their requests or show tokens; `nil` where there are none.
    var clients: ClientAccess?
    var origins: OriginPolicy
    /// Whether request bodies go to the log.
    var logsPrompts = false
    /// `nil` counts nobody's requests.
    var limiter: RateLimiter?
    /// The routes.
    let next: Server.Handler

    /// Paths that need no key: health checks have none, and neither has a browser that opens the page, which asks its
    /// user for one.
    private static func isOpen(_ path: String) -> Bool {
        ["/", "/health", "/ready"].contains { $0.utf8.elementsEqual(path.utf8) }
            || path.utf8.starts(with: "/page/".utf8)
    }

    /// What pages may read of an answer's head.
    private static let exposedHeaders = [
        "X-Request-Id", "Retry-After", "x-engine", "x-ratelimit-limit-requests", "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ].joined(separator: ", ")

    @Sendable func respond(to request: Request) async throws -> Response {
        if logsPrompts { RequestNotes.current?["request"] = .text(String(decoding: request.body, as: UTF8.self)) }
        var response: Response
        do {
            response = try await answer(request)
        } catch  where !Task.isCancelled {
            response = errorResponse(error)
        }
        if case .text(let engine)? = RequestNotes.current?["engine"] { response.headers["x-engine"] = engine }
        guard !origins.corsOrigins.isEmpty else { return response }
        response.headers.append("Vary", "Origin")
        // With errors too, or a page could not read them.
        if let origin = request.headers["Origin"], origins.allows(origin) {
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = Self.exposedHeaders
        }
        return response
    }

    private func answer(_ request: Request) async throws -> Response {
        let isOpen = Self.isOpen(request.path)
        try origins.check(request, isOpen: isOpen)
        if let preflight = preflight(request) { return preflight }
        let principal = isOpen ? nil : try principal(of: request)
        RequestNotes.current?["principal"] = principal.map { .text("\($0.kind.rawValue) \($0.id)") }
        return try await Principal.$current.withValue(principal) {
            // What only looks costs next to nothing.
            guard let limiter, !isOpen, request.method == "POST" else { return try await next(request) }
            return try await limiter.limiting(request, of: principal) { try await next(request) }
        }
    }

    private func principal(of request: Request) throws(APIError) -> Principal? {
        guard let clients else { return try keys.check(request) }
        // Its route looks at the secret key, and refuses it in the SDK's own words.
        if request.path.utf8.elementsEqual("/api/auth/token".utf8) { return nil }
        if let principal = try clients.principal(of: request) { return principal }
        guard !keys.isEmpty else { throw .signatureRefused }
        return try keys.check(request)
    }

    /// A browser's question whether a page may send a request. It has no key to show yet.
    private func preflight(_ request: Request) -> Response? {
        guard request.method == "OPTIONS", let origin = request.headers["Origin"], origins.allows(origin),
            let method = request.headers["Access-Control-Request-Method"]
        else { return nil }
        var headers: Headers = ["Access-Control-Allow-Methods": method, "Access-Control-Max-Age": "600"]
        headers["Access-Control-Allow-Headers"] = request.headers["Access-Control-Request-Headers"]
        return Response(status: 204, headers: headers)
    }
}
