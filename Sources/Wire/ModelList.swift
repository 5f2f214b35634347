/// One model, as `GET /v1/models/{id}` answers it.
public struct ModelCard: Codable, Sendable, Equatable {
    public var id: String
    public var object: String
    /// Unix seconds.
    public var created: Int
    public var ownedBy: String
    /// Not in OpenAI's API, like what follows: whether the model is in memory; `nil` for one of
    /// another server.
    public var state: State? = .unloaded
    /// 0...1, while it is loading.
    public var progress: Double?
    /// Why it could not be loaded.
    public var reason: String?

    public enum State: String, Codable, Sendable {
        case unloaded, loading, loaded, failed
    }

    enum CodingKeys: String, CodingKey {
        case id, object, created, state, progress, reason
        case ownedBy = "owned_by"
    }

    public init(id: String, created: Int, ownedBy: String) {
        self.id = id
        object = "model"
        self.created = created
        self.ownedBy = ownedBy
    }
}

/// The answer to `GET /v1/models`.
public struct ModelList: Codable, Sendable, Equatable {
    public var object: String
    public var data: [ModelCard]

    public init(_ models: [ModelCard]) {
        object = "list"
        data = models
    }
}
