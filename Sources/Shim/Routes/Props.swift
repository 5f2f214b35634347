import HTTP
import LocalLLM
import Wire

extension Router {
    /// `GET /props`: what this server computes with; field names are those of llama.cpp's server where it has them.
    @Sendable func props(_: Request) throws -> Response {
        let engine = try model.engine()
        return try .json(
            Props(
                modelAlias: model.card.id,
                defaults: .init(contextSize: engine.contextSize),
                kernels: engine.kernels, tier: engine.tier.rawValue, threads: engine.threads,
                architecture: engine.info.architecture, quantization: engine.info.quantization))
    }
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
