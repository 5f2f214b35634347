import HTTP
import Wire

/// Finds the route for a request. Each is in a file of its own under `Routes`.
struct Router: Sendable {
    let models: ModelStore
    /// How long a streamed answer may be silent before it says that it is alive.
    var pingInterval: Duration = .seconds(5)
    /// How long an answer may take, all of it.
    var requestTimeout: Duration = .seconds(3600)
    /// Issues tokens; `nil` where no clients are configured.
    var clients: ClientAccess?
    /// Who is asked for what this server cannot do; `nil`: nobody.
    var upstream: Upstream?
    let metrics = Metrics()
    private let largeRequests = LargeRequests()
    let responses = ResponseStore()
    let latestRequests = LatestRequests()

    private typealias Handler = @Sendable (Request) async throws -> Response

    /// A path's name, one of a few, and its handlers by method.
    private typealias Route = (name: String, handlers: [(method: String, handler: Handler)])

    private func route(for path: String) -> Route? {
        switch path {
        case "/health": (path, [("GET", health)])
        case "/ready": (path, [("GET", ready)])
        case "/props": (path, [("GET", props)])
        case "/metrics": (path, [("GET", exposeMetrics)])
        case "/v1/models": (path, [("GET", listModels)])
        case "/v1/chat/completions": (path, [("POST", answerChat)])
        case "/v1/completions": (path, [("POST", { try await answer($0, .completions, here: completions) })])
        case "/v1/embeddings": (path, [("POST", { try await answer($0, .embeddings, here: embeddings) })])
        case "/v1/responses": (path, [("POST", { try await answer($0, .responses, here: createResponse) })])
        case "/v1/images/generations": (path, [("POST", generateImages)])
        case "/tokenize": (path, [("POST", tokenize)])
        case "/detokenize": (path, [("POST", detokenize)])
        case "/apply-template": (path, [("POST", applyTemplate)])
        case "/api/suggest": (path, [("POST", suggest)])
        case "/api/auth/token": (path, [("POST", issueAccessToken)])
        default:
            if let endpoint = AppEndpoint(path: path) {
                (endpoint.rawValue, [("POST", handler(for: endpoint))])
            } else if let id = path.dropping(prefix: "/v1/models/") {
                ("/v1/models/{id}", [("GET", { try await model(id, $0) })])
            } else if let id = path.dropping(prefix: "/v1/responses/"), !id.contains("/") {
                (
                    "/v1/responses/{id}",
                    [("GET", { try response(id, $0) }), ("DELETE", { try deleteResponse(id, $0) })]
                )
            } else if let file = PageFile.all[path] {
                ("page", [("GET", file.answer)])
            } else {
                nil
            }
        }
    }

    private func handler(for endpoint: AppEndpoint) -> Handler {
        switch endpoint {
        case .authToken: issueSession
        case .chatGPT: chatGPT
        case .chatGPTSimple: chatGPTSimple
        case .dalle: dalle
        case .vision: vision
        }
    }

    func respond(to request: Request) async throws -> Response {
        let route = route(for: request.path)
        return try await metrics.counting(route?.name ?? "other") { try await answer(request, route) }
    }

    private func answer(_ request: Request, _ route: Route?) async throws -> Response {
        guard let handlers = route?.handlers else {
            throw APIError(
                status: 404, kind: .invalidRequest, message: "There is nothing at \(request.path).",
                code: "unknown_url")
        }
        // The server leaves the body of an answer to HEAD away.
        let method = request.method == "HEAD" ? "GET" : request.method
        if let handler = handlers.first(where: { $0.method == method })?.handler {
            return try await working(on: request) { try await handler(request) }
        }

        let allowed = handlers.map { $0.method == "GET" ? "GET, HEAD" : $0.method }.joined(separator: ", ")
        var response = try errorResponse(
            APIError(
                status: 405, kind: .invalidRequest, message: "\(request.path) takes \(allowed), not \(request.method).",
                code: "method_not_allowed"))
        response.headers["Allow"] = allowed
        return response
    }

    /// Does what may take long where the request is large, without holding up other requests.
    func working<Result: Sendable>(
        on request: Request, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        guard request.body.count > LargeRequests.bytes else { return try await body() }
        return try await withTaskExecutorPreference(largeRequests, operation: body)
    }

    /// The model that a request names, or the only one where the endpoint lets clients name none.
    func served(_ name: String?) async throws -> EngineLease {
        guard let name = name ?? models.only?.file.id else { throw APIError(missing: "model") }
        let lease = try await models.engine(for: name)
        RequestNotes.current?["model"] = .text(lease.model)
        return lease
    }
}

extension String {
    /// What follows a prefix, compared as bytes.
    fileprivate func dropping(prefix: String) -> String? {
        guard utf8.starts(with: prefix.utf8), utf8.count > prefix.utf8.count else { return nil }
        return String(self.utf8.dropFirst(prefix.utf8.count))
    }
}
