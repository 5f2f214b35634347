import HTTP

/// `GET /health`: 200 if the server works; 503 while its only model is loading for the first time. Also gives the
/// upstream's circuit state, which does not affect the status.
@Sendable func showHealth(_ context: RequestContext, _ services: Services) throws -> Response {
    let isLoading = services.models.isStarting
    var state = ["status": isLoading ? "loading" : "ok"]
    state["upstream"] = services.upstream?.circuit.name
    return try .json(state, status: isLoading ? 503 : 200)
}

/// `GET /ready`: 200 if requests can be answered now, possibly after loading a model; 503 while the server starts or
/// stops, and while all places for requests are taken.
@Sendable func showReadiness(_ context: RequestContext, _ services: Services) throws -> Response {
    if context.request.isLast { return try .json(["status": "stopping"], status: 503) }
    if services.models.isStarting { return try .json(["status": "loading"], status: 503) }
    if services.models.models.isEmpty { return try .json(["status": "no models"], status: 503) }
    if services.models.isFull, services.upstream?.takesWhatIsTooMuch != true {
        return try .json(["status": "full"], status: 503)
    }
    return try .json(["status": "ok"])
}

/// `GET /version`.
@Sendable func showVersion(_ context: RequestContext, _ services: Services) throws -> Response {
    try .json(["version": version])
}
