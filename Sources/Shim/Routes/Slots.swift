import HTTP
import LocalLLM
import Wire

/// `GET /slots`: load of a model, for clients of llama.cpp's server. There is one slot per possible generation; slot
/// numbers have no meaning here. `?model=` names one of several models; with `?fail_on_no_slot=1` the status is 503 if
/// no slot is free.
@Sendable func showSlots(_ context: RequestContext, _ services: Services) throws -> Response {
    let model = try namedModel(context, services)
    let running = model.loaded?.activity.running ?? 0
    let contextSize = model.loaded?.contextSize ?? (try? model.file.info.get().trainedContextSize) ?? 0
    if running >= LocalModel.maximumRunning, let fails = context.query("fail_on_no_slot"), fails != "0" {
        throw APIError(status: 503, kind: .server, message: "No slot is free.", code: "no_slot")
    }
    return try .json(
        (0..<LocalModel.maximumRunning).map {
            Slot(id: $0, contextSize: contextSize, isProcessing: $0 < running)
        })
}

private struct Slot: Encodable {
    let id: Int
    let contextSize: Int
    let isProcessing: Bool

    enum CodingKeys: String, CodingKey {
        case id
        case contextSize = "n_ctx"
        case isProcessing = "is_processing"
    }
}

/// The model that `?model=` names, or the only one.
func namedModel(_ context: RequestContext, _ services: Services) throws(APIError) -> ServedModel {
    if let name = context.query("model") { return try services.models.model(named: name) }
    guard let only = services.models.implied else {
        throw .init(
            status: 400, kind: .invalidRequest,
            message: "model: name one of the models, as in \(context.request.path)?model=NAME", param: "model",
            code: "invalid_value")
    }
    return only
}
