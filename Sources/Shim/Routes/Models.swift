import HTTP
import Wire

extension Router {
    /// `GET /v1/models`
    @Sendable func models(_: Request) throws -> Response { try .json(ModelList([model.card])) }

    /// `GET /v1/models/{id}`, by any of the model's names.
    func model(_ id: String, _: Request) throws -> Response {
        try model.check(id)
        return try .json(model.card)
    }
}
