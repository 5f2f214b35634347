import HTTP
import Wire

extension Router {
    /// `GET /v1/models`
    @Sendable func listModels(_: Request) throws -> Response { try .json(ModelList(models.cards())) }

    /// `GET /v1/models/{id}`, by any of the model's names.
    func model(_ id: String, _: Request) throws -> Response { try .json(models.model(named: id).card) }
}
