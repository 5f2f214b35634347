import HTTP
import JSON
import LocalLLM
import Tokenizer
import Wire

// Paths and fields of llama.cpp's server. `?model=` names one of several models.

/// `GET /lora-adapters`: the adapters that the server was started with.
@Sendable func listAdapters(_ context: RequestContext, _ services: Services) async throws -> Response {
    let model = try await services.lease(context.query("model"), for: context).model
    return try .json(model.adapters.map { ListedAdapter($0, try? model.tokenizer) })
}

/// `POST /lora-adapters`: sets the default scales of the adapters. Adapters not named get 0.
@Sendable func setAdapters(_ context: RequestContext, _ services: Services) async throws -> Response {
    let scales = try JSON.decode([AdapterScale].self, from: context.body)
    try scales.validate(at: "adapters")
    let model = try await services.lease(context.query("model"), for: context).model
    if let index = scales.firstIndex(where: { $0.id.value >= model.adapters.count }) {
        throw APIError.invalid("adapters[\(index)].id", "expected an id below \(model.adapters.count)")
    }
    try model.setAdapterScales(scales.byID)
    return try .json(["success": true])
}

private struct ListedAdapter: Encodable {
    let id: Int
    let path: String
    let scale: Double
    let taskName: String
    let promptPrefix: String
    /// Text and tokens in the prompt that activate the adapter.
    let invocation: String?
    let invocationTokens: [Int32]?

    init(_ adapter: LocalModel.Adapter, _ tokenizer: TextTokenizer?) {
        (id, path, scale) = (adapter.id, adapter.path, adapter.scale)
        (taskName, promptPrefix) = (adapter.task ?? adapter.name, adapter.promptPrefix ?? "")
        let tokens = adapter.invocationTokens
        invocationTokens = tokens.isEmpty ? nil : tokens
        invocation = tokens.isEmpty ? nil : tokenizer?.decode(tokens, includingControl: true)
    }

    enum CodingKeys: String, CodingKey {
        case id, path, scale
        case taskName = "task_name"
        case promptPrefix = "prompt_prefix"
        case invocation = "alora_invocation_string"
        case invocationTokens = "alora_invocation_tokens"
    }
}
