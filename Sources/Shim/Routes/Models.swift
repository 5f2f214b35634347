import HTTP
import JSON
import Wire

/// `GET /v1/models`
@Sendable func listModels(_ context: RequestContext, _ services: Services) async throws -> Response {
    let here = services.models.cards().map(services.complete)
    let others = await services.upstream?.modelCards() ?? []
    return try .json(ModelList(here + others.filter { !services.models.has($0.id) }))
}

/// `GET /v1/models/{id}`, by any of the model's names.
@Sendable func showModel(_ context: RequestContext, _ services: Services) async throws -> Response {
    let id = context.parameter("id")
    let other =
        services.models.has(id)
        ? nil : await services.upstream?.modelCards().first { $0.id.utf8.elementsEqual(id.utf8) }
    return try .json(other ?? services.complete(services.models.card(named: id)))
}

extension Services {
    /// Adds what the model's file does not say. `multimodal` is llama.cpp's name for models that look at images.
    fileprivate func complete(_ card: ModelCard) -> ModelCard {
        var card = card
        if models.seesImages(card.parent ?? card.id) { card.capabilities?.append(.multimodal) }
        return card
    }
}

/// `POST /models/unload`, from llama.cpp's API: unloads a model. The next request for it loads it again.
@Sendable func unloadModel(_ context: RequestContext, _ services: Services) throws -> Response {
    let name = try JSON.decode(ModelName.self, from: context.body).model
    let model = try services.models.model(named: name)
    try model.unloadForOperator()
    return try .json(["success": true])
}

/// `POST /models/load`, from llama.cpp's API: loads a model, and answers when it is loaded.
@Sendable func loadModel(_ context: RequestContext, _ services: Services) async throws -> Response {
    let name = try JSON.decode(ModelName.self, from: context.body).model
    _ = try await services.lease(name, for: context, takesAdapters: true)
    return try .json(["success": true])
}

private struct ModelName: Decodable { let model: String }
