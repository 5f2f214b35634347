package import HTTP
import LocalLLM
import Wire

/// The routes of a server. `FrontDoor` reads each route's access from it, `runHandler` its handler.
package struct RouteTable: Sendable {
    /// The result of looking up a request's method and path.
    package enum Match: Sendable {
        case route(Route, parameters: [String: String])
        /// The path has routes, but for other methods.
        case otherMethods([Route])
        case nothing
    }

    package let routes: [Route]

    package init(_ routes: [Route]) { self.routes = routes }

    /// Finds a request's route. `HEAD` finds the route for `GET`; the HTTP server omits the body.
    package func match(_ request: Request) -> Match {
        let method = request.method == "HEAD" ? "GET" : request.method
        var others: [Route] = []
        for route in routes {
            for path in route.paths {
                guard let parameters = path.match(request.path) else { continue }
                if route.method == method { return .route(route, parameters: parameters) }
                others.append(route)
                break
            }
        }
        return others.isEmpty ? .nothing : .otherMethods(others)
    }

    /// Maximum bytes of a body of any route.
    func bodyLimit(seesImages: Bool) -> Int {
        routes.map { $0.bodyLimit(seesImages: seesImages) }.max() ?? 0
    }
}

extension RouteTable.Match {
    /// Access that `FrontDoor` requires. An unknown path requires the usual credentials, so that routes cannot be
    /// discovered without a key.
    var access: Route.Access {
        switch self {
        case .route(let route, _): route.access
        case .otherMethods(let routes): routes[0].access
        case .nothing: .clients(.standard)
        }
    }

    func limits(for method: String) -> Route.Limits {
        if case .route(let route, _) = self { route.limits } else { .init(isCounted: method == "POST") }
    }

    /// The form of the errors of the path's routes.
    var errors: ErrorForm {
        switch self {
        case .route(let route, _): route.errors
        case .otherMethods(let routes): routes[0].errors
        case .nothing: .openAI
        }
    }

    /// The route's name in the metrics. Unknown paths share one name, which bounds the number of series.
    fileprivate var name: String {
        switch self {
        case .route(let route, _): route.name
        case .otherMethods(let routes): routes[0].name
        case .nothing: "other"
        }
    }
}

/// Runs the handler of the route that a request leads to.
@Sendable func runHandler(_ context: RequestContext, _ services: Services) async throws -> Response {
    try await services.metrics.counting(context.match.name, context.trace) {
        switch context.match {
        case .nothing: throw APIError.nothing(at: context.request.path)
        case .otherMethods(let routes): return try methodNotAllowed(context.request, routes)
        case .route(let route, _):
            return try await FairShare.$client.withValue(context.client) {
                try await writingErrors(in: route.errors, context.trace) {
                    try await working(on: context) { try await route.handler(context, services) }
                }
            }
        }
    }
}

/// Runs `body`; its errors become responses unless they are written in OpenAI's form, which is the caller's.
private func writingErrors(
    in form: ErrorForm, _ trace: RequestTrace, _ body: @Sendable () async throws -> Response
) async throws -> Response {
    guard form != .openAI else { return try await body() }
    do { return try await body() } catch let error where !(error is CancellationError) {
        return errorResponse(error, trace, in: form)
    }
}

private func methodNotAllowed(_ request: Request, _ routes: [Route]) throws -> Response {
    let allowed = routes.map { $0.method == "GET" ? "GET, HEAD" : $0.method }.joined(separator: ", ")
    var response = try errorResponse(
        APIError(
            status: 405, kind: .invalidRequest, message: "\(request.path) takes \(allowed), not \(request.method).",
            code: "method_not_allowed"), in: routes[0].errors)
    response.headers["Allow"] = allowed
    return response
}

/// Runs `body`; for a request with a large body on `FairExecutor.large`, so that it does not block others.
func working<Result: Sendable>(
    on context: RequestContext, _ body: @Sendable () async throws -> Result
) async throws -> Result {
    guard context.body.count > FairExecutor.largeBytes else { return try await body() }
    return try await preparing(context, body)
}

/// Runs `body` on a `FairExecutor`: for work that may be slow even for a small request, as rendering a template.
func preparing<Result: Sendable>(
    _ context: RequestContext, _ body: @Sendable () async throws -> Result
) async throws -> Result {
    let fair = context.body.count > FairExecutor.largeBytes ? FairExecutor.large : .prompts
    let executor = fair.executor(for: context.client)
    return try await withTaskExecutorPreference(executor) {
        // The client may have disconnected while the job was queued.
        try Task.checkCancellation()
        return try await body()
    }
}

extension APIError {
    static func nothing(at path: String) -> Self {
        .init(status: 404, kind: .invalidRequest, message: "Unknown path: \(path).", code: "unknown_url")
    }
}
