import HTTP
import Wire

extension Router {
    /// `GET /v1/models`
    @Sendable func listModels(_: Request) async throws -> Response {
        let here = models.cards()
        let others = await upstream?.modelCards() ?? []
        return try .json(ModelList(here + others.filter { !models.has($0.id) }))
    }

    /// `GET /v1/models/{id}`, by any of the model's names.
    func model(_ id: String, _: Request) async throws -> Response {
        let other = models.has(id) ? nil : await upstream?.modelCards().first { $0.id.utf8.elementsEqual(id.utf8) }
        return try .json(other ?? models.model(named: id).card)
    }
}
