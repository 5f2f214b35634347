import HTTP

/// `GET /health`: 200 while the server does its work; 503 while the model that it was started for is loading.
/// With an upstream also whether that is asked, which does not change the status: this server works without.
@Sendable func showHealth(_ context: RequestContext, _ services: Services) throws -> Response {
    let isLoading = services.models.isStarting
    var state = ["status": isLoading ? "loading" : "ok"]
    state["upstream"] = services.upstream?.circuit.name
    return try .json(state, status: isLoading ? 503 : 200)
}

/// `GET /ready`: 200 if a request could be answered now, be it by loading a model first; 503 once the server stops.
@Sendable func showReadiness(_ context: RequestContext, _ services: Services) throws -> Response {
    if context.request.isLast { return try .json(["status": "stopping"], status: 503) }
    if services.models.isStarting { return try .json(["status": "loading"], status: 503) }
    if services.models.models.isEmpty { return try .json(["status": "no models"], status: 503) }
    return try .json(["status": "ok"])
}
