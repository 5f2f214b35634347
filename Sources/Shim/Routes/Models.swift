import HTTP
import Wire

/// `GET /v1/models`
@Sendable func listModels(_ context: RequestContext, _ services: Services) async throws -> Response {
    let here = services.models.cards()
    let others = await services.upstream?.modelCards() ?? []
    return try .json(ModelList(here + others.filter { !services.models.has($0.id) }))
}

/// `GET /v1/models/{id}`, by any of the model's names.
@Sendable func showModel(_ context: RequestContext, _ services: Services) async throws -> Response {
    let id = context.parameter("id")
    let other =
        services.models.has(id)
        ? nil : await services.upstream?.modelCards().first { $0.id.utf8.elementsEqual(id.utf8) }
    return try .json(other ?? services.models.model(named: id).card)
}
