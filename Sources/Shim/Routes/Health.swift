import HTTP

extension Router {
    /// `GET /health`: 200 once the model can answer, for those who wait for it.
    @Sendable func health(_: Request) throws -> Response {
        let isReady = model.isLoaded
        return try .json(["status": isReady ? "ok" : "loading"], status: isReady ? 200 : 503)
    }
}
