import HTTP
import Wire

/// Finds the route for a request. Each is in a file of its own under `Routes`.
struct Router: Sendable {
    let models: ModelStore
    /// How long a streamed answer may be silent before it says that it is alive.
    var pingInterval: Duration = .seconds(5)

    private typealias Handler = @Sendable (Request) async throws -> Response

    /// The handlers of a path by method; empty where there is no such path.
    private func handlers(for path: String) -> [(method: String, handler: Handler)] {
        switch path {
        case "/health": [("GET", health)]
        case "/ready": [("GET", ready)]
        case "/props": [("GET", props)]
        case "/v1/models": [("GET", listModels)]
        case "/v1/chat/completions": [("POST", chatCompletions)]
        default:
            if let id = path.dropping(prefix: "/v1/models/") { [("GET", { try model(id, $0) })] } else { [] }
        }
    }

    func respond(to request: Request) async throws -> Response {
        let handlers = handlers(for: request.path)
        guard !handlers.isEmpty else {
            throw APIError(
                status: 404, kind: .invalidRequest, message: "There is nothing at \(request.path).",
                code: "unknown_url")
        }
        // The server leaves the body of an answer to HEAD away.
        let method = request.method == "HEAD" ? "GET" : request.method
        if let handler = handlers.first(where: { $0.method == method })?.handler { return try await handler(request) }

        let allowed = handlers.map { $0.method == "GET" ? "GET, HEAD" : $0.method }.joined(separator: ", ")
        var response = try errorResponse(
            APIError(
                status: 405, kind: .invalidRequest, message: "\(request.path) takes \(allowed), not \(request.method).",
                code: "method_not_allowed"))
        response.headers["Allow"] = allowed
        return response
    }
}

extension String {
    /// What follows a prefix, compared as bytes.
    fileprivate func dropping(prefix: String) -> String? {
        guard utf8.starts(with: prefix.utf8), utf8.count > prefix.utf8.count else { return nil }
        return String(self.utf8.dropFirst(prefix.utf8.count))
    }
}
