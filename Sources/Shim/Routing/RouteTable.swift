import HTTP
import LocalLLM
import Wire

/// The routes of a server. `FrontDoor` reads who may use a route from it, `runHandler` finds the handler in it.
struct RouteTable: Sendable {
    /// What a request's method and path lead to.
    enum Match: Sendable {
        case route(Route, parameters: [String: String])
        /// There are routes at this path for other methods.
        case otherMethods([Route])
        case nothing
    }

    let routes: [Route]

    init(_ routes: [Route]) { self.routes = routes }

    /// `HEAD` leads to the route for `GET`: the server leaves the body of its answer away.
    func match(_ request: Request) -> Match {
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
}

extension RouteTable.Match {
    /// What `FrontDoor` asks for. A path without a route asks for what most routes do, so that nobody learns without a key
    /// which routes there are.
    var access: Route.Access {
        switch self {
        case .route(let route, _): route.access
        case .otherMethods(let routes): routes[0].access
        case .nothing: .clients(.standard)
        }
    }

    /// Refuses a body that is larger than the route takes.
    func checkBody(_ count: Int) throws(APIError) {
        guard case .route(let route, _) = self, count > route.limits.bodyBytes else { return }
        throw APIError(
            status: 413, kind: .invalidRequest,
            message: "\(route.name) takes a body of at most \(route.limits.bodyBytes) bytes, got \(count).",
            code: "request_too_large")
    }

    func limits(for method: String) -> Route.Limits {
        if case .route(let route, _) = self { route.limits } else { .init(isCounted: method == "POST") }
    }

    /// The route's name in the metrics. One of a few: what clients may send is without bound.
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
            try context.match.checkBody(context.request.body.count)
            return try await LocalModel.$client.withValue(context.client) {
                try await working(on: context) { try await route.handler(context, services) }
            }
        }
    }
}

private func methodNotAllowed(_ request: Request, _ routes: [Route]) throws -> Response {
    let allowed = routes.map { $0.method == "GET" ? "GET, HEAD" : $0.method }.joined(separator: ", ")
    var response = try errorResponse(
        APIError(
            status: 405, kind: .invalidRequest, message: "\(request.path) takes \(allowed), not \(request.method).",
            code: "method_not_allowed"))
    response.headers["Allow"] = allowed
    return response
}

/// Runs `body`; for a request with a large body on `FairExecutor.large`, so that it does not hold up others.
func working<Result: Sendable>(
    on context: RequestContext, _ body: @Sendable () async throws -> Result
) async throws -> Result {
    guard context.request.body.count > FairExecutor.largeBytes else { return try await body() }
    return try await preparing(context, body)
}

/// Runs what may take long whatever the size of the request, such as rendering a model's template.
func preparing<Result: Sendable>(
    _ context: RequestContext, _ body: @Sendable () async throws -> Result
) async throws -> Result {
    let fair = context.request.body.count > FairExecutor.largeBytes ? FairExecutor.large : .prompts
    let executor = fair.executor(for: context.client)
    return try await withTaskExecutorPreference(executor) {
        // The client may have left while others had their turns.
        try Task.checkCancellation()
        return try await body()
    }
}

extension APIError {
    static func nothing(at path: String) -> Self {
        .init(status: 404, kind: .invalidRequest, message: "There is nothing at \(path).", code: "unknown_url")
    }
}
