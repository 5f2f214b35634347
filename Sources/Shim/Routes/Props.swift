import HTTP
import LocalLLM
import Wire

/// `GET /props`: what this server computes with; field names are those of llama.cpp's server where it has them. Of
/// several models, `?model=` says which; it is not loaded for this.
@Sendable func showProps(_ context: RequestContext, _ services: Services) throws -> Response {
    let models = services.models
    let name = context.query("model")
    guard let model = try name.map({ name throws(APIError) in try models.model(named: name) }) ?? models.only else {
        throw APIError(
            status: 400, kind: .invalidRequest, message: "model: name one of the models, as in /props?model=NAME",
            param: "model", code: "invalid_value")
    }
    guard let engine = model.engine else {
        throw APIError(
            status: 503, kind: .server, message: "The model `\(model.file.id)` is not in memory.",
            code: "model_not_loaded")
    }
    return try .json(
        Props(
            modelAlias: model.file.id,
            defaults: .init(contextSize: engine.contextSize),
            kernels: engine.kernels, tier: engine.tier.rawValue, threads: engine.threads,
            architecture: engine.info.architecture, quantization: engine.info.quantization))
}

private struct Props: Encodable {
    struct Defaults: Encodable {
        let contextSize: Int
        enum CodingKeys: String, CodingKey { case contextSize = "n_ctx" }
    }
    let modelAlias: String
    let defaults: Defaults
    let kernels: String
    let tier: String
    let threads: Int
    let architecture: String
    let quantization: String

    enum CodingKeys: String, CodingKey {
        case modelAlias = "model_alias"
        case defaults = "default_generation_settings"
        case kernels, tier, threads, architecture, quantization
    }
}
