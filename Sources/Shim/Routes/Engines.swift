import HTTP
import Wire

/// `GET /api/engines`: the engines and whether they can answer now, for pages that show them or offer a choice.
@Sendable func listEngines(_ context: RequestContext, _ services: Services) async throws -> Response {
    let models = services.models.cards()
    let usable = models.filter { $0.state != .failed }
    var engines = [
        EngineStatus(
            id: .local, isAvailable: !usable.isEmpty && !services.models.isStarting,
            reason: services.models.isStarting
                ? "The model is loading."
                : models.isEmpty
                    ? "No model is available." : usable.isEmpty ? models.compactMap(\.reason).first : nil,
            models: models.map(\.id))
    ]
    if let upstream = services.upstream {
        let circuit = upstream.circuit.name
        engines.append(
            EngineStatus(
                id: .upstream, isAvailable: circuit != "open",
                reason: circuit == "open" ? "The upstream API failed repeatedly; requests to it are paused." : nil,
                models: await upstream.modelCards().map(\.id)))
    }
    return try .json(["engines": engines])
}

private struct EngineStatus: Encodable {
    let id: AnsweredBy
    let isAvailable: Bool
    /// Why the engine cannot answer.
    let reason: String?
    let models: [String]

    enum CodingKeys: String, CodingKey {
        case id, reason, models
        case isAvailable = "available"
    }
}
