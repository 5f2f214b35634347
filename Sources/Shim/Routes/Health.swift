import HTTP

extension Router {
    /// `GET /health`: 200 while the server does its work; 503 while the model that it was started for is loading.
    /// With an upstream also whether that is asked, which does not change the status: this server works without.
    @Sendable func health(_: Request) throws -> Response {
        let isLoading = models.isStarting
        var state = ["status": isLoading ? "loading" : "ok"]
        state["upstream"] = upstream?.circuit.name
        return try .json(state, status: isLoading ? 503 : 200)
    }

    /// `GET /ready`: 200 if a request could be answered now, be it by loading a model first; 503 once the server stops.
    @Sendable func ready(_ request: Request) throws -> Response {
        if request.isLast { return try .json(["status": "stopping"], status: 503) }
        if models.isStarting { return try .json(["status": "loading"], status: 503) }
        if models.models.isEmpty { return try .json(["status": "no models"], status: 503) }
        return try .json(["status": "ok"])
    }
}
