import HTTP
import Wire

/// Checks a request before its handler runs: origin, authentication, rate limit, and only then reads the body. The route
/// table says what each route requires.
struct FrontDoor: Sendable {
    var keys: APIKeys
    /// Checks credentials other than API keys; `nil` if none are configured.
    var authenticator: (any Authenticator)?
    /// The routes at present.
    var routes: @Sendable () -> RouteTable
    var origins: OriginPolicy
    /// Whether request bodies go to the log.
    var logsPrompts = false
    /// `nil`: no rate limit.
    var limiter: RateLimiter?
    /// As in `Services`.
    var seesImages = false
    /// Runs the request's handler.
    let next: @Sendable (RequestContext) async throws -> Response

    /// Response headers that pages of other origins may read.
    private static let exposedHeaders = [
        "X-Request-Id", "Retry-After", "x-engine", "x-warning", "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ].joined(separator: ", ")

    @Sendable func respond(to request: Request) async throws -> Response {
        let context = RequestContext(request, routes: routes())
        context.trace.app = request.headers["X-App-Identifier"]
        var response: Response
        do {
            response = try await answer(context)
        } catch  where !Task.isCancelled {
            response = errorResponse(error, context.trace, in: context.match.errors)
        }
        if let engine = context.trace.engine { response.headers["x-engine"] = engine.rawValue }
        let warnings = context.trace.warnings
        if !warnings.isEmpty { response.headers["x-warning"] = Self.header(warnings) }
        return readable(response, by: request)
    }

    /// Warnings as a header's value: printable ASCII, at most 1,000 bytes.
    private static func header(_ warnings: [String]) -> String {
        let text = warnings.joined(separator: "; ").unicodeScalars.map { scalar in
            (0x20...0x7e).contains(scalar.value) ? String(scalar) : "?"
        }.joined()
        return text.utf8.count <= 1000 ? text : text.prefix(997) + "..."
    }

    /// Adds the CORS headers that let an allowed origin read the response, including errors.
    private func readable(_ response: Response, by request: Request) -> Response {
        guard !origins.corsOrigins.isEmpty else { return response }
        var response = response
        response.headers.append("Vary", "Origin")
        if let origin = request.headers["Origin"], origins.allows(origin) {
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = Self.exposedHeaders
        }
        return response
    }

    private func answer(_ context: RequestContext) async throws -> Response {
        var context = context
        let request = context.request
        let access = context.match.access
        try origins.check(request, isOpen: access == .everyone)
        if let preflight = preflight(request) { return preflight }
        // Signatures cover the body; whoever has another credential is refused before it is read.
        if authenticator?.coversBody(request) == true { try await readBody(of: &context) }
        context.principal = try principal(of: context.request, access)
        context.trace.principal = context.principal
        guard let limiter, access != .everyone, context.match.limits(for: request.method).isCounted else {
            return try await reading(context)
        }
        return try await limiter.limiting(context) { [context] in try await reading(context) }
    }

    private func reading(_ context: RequestContext) async throws -> Response {
        var context = context
        try await readBody(of: &context)
        return try await next(context)
    }

    private func readBody(of context: inout RequestContext) async throws {
        try await context.readBody(seesImages: seesImages)
        if logsPrompts { context.trace.body = String(decoding: context.body, as: UTF8.self) }
    }

    private func principal(of request: Request, _ access: Route.Access) throws(APIError) -> Principal? {
        guard case .clients(let accepted) = access else { return nil }
        guard let authenticator else { return try keys.check(request) }
        if let principal = try authenticator.principal(of: request, accepting: accepted) { return principal }
        if keys.isEmpty, let refusal = authenticator.refusal(accepting: accepted) { throw refusal }
        return try keys.check(request, required: true)
    }

    /// Answers a CORS preflight, which carries no key.
    private func preflight(_ request: Request) -> Response? {
        guard request.method == "OPTIONS", let origin = request.headers["Origin"], origins.allows(origin),
            let method = request.headers["Access-Control-Request-Method"]
        else { return nil }
        var headers: Headers = ["Access-Control-Allow-Methods": method, "Access-Control-Max-Age": "600"]
        headers["Access-Control-Allow-Headers"] = request.headers["Access-Control-Request-Headers"]
        return Response(status: 204, headers: headers)
    }
}
