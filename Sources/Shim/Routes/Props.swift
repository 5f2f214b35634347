import HTTP
import JSON
import LocalLLM
import Wire

/// `GET /props`: properties of a model and its engine, under llama.cpp's field names where those exist. `?model=` names
/// one of several models. An unloaded model stays unloaded; fields of its engine are then omitted.
@Sendable func showProps(_ context: RequestContext, _ services: Services) throws -> Response {
    let model = try namedModel(context, services)
    let loaded = model.loaded
    let info = try loaded?.info ?? model.file.info.get()
    return try .json(
        Props(
            modelAlias: model.file.id, state: model.card.state ?? .unloaded, totalSlots: LocalModel.maximumRunning,
            buildInfo: "shim \(version)",
            defaults: .init(
                contextSize: loaded?.contextSize ?? info.trainedContextSize,
                params: loaded.map { settings($0.settled(SamplingOptions())) }),
            kernels: loaded?.kernels, tier: loaded?.tier.rawValue, threads: loaded?.threads,
            architecture: info.architecture, quantization: info.quantization,
            availableMemory: LocalModel.availableMemory))
}

private struct Props: Encodable {
    struct Defaults: Encodable {
        let contextSize: Int
        let params: [String: JSON]?

        enum CodingKeys: String, CodingKey {
            case params
            case contextSize = "n_ctx"
        }
    }
    let modelAlias: String
    let state: ModelCard.State
    let totalSlots: Int
    let buildInfo: String
    let defaults: Defaults
    let kernels: String?
    let tier: String?
    let threads: Int?
    let architecture: String
    let quantization: String
    /// Bytes that the server can still allocate.
    let availableMemory: Int

    enum CodingKeys: String, CodingKey {
        case modelAlias = "model_alias"
        case totalSlots = "total_slots"
        case buildInfo = "build_info"
        case defaults = "default_generation_settings"
        case availableMemory = "memory_available"
        case state, kernels, tier, threads, architecture, quantization
    }
}
