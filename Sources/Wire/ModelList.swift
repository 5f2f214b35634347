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

    /// Of the model's file, by llama.cpp's names; absent where it cannot be read, and for models of another server.
    public var meta: Meta?
    /// What the model can be asked for; `nil` where its file cannot be read, and for models of another server.
    public var capabilities: [Capability]?

    public enum Capability: String, Codable, Sendable {
        case completion, embedding, rerank
    }

    public struct Meta: Codable, Sendable, Equatable {
        public var vocabularySize: Int
        public var trainedContextSize: Int
        public var parameterCount: Int
        /// Bytes of the file.
        public var size: Int

        enum CodingKeys: String, CodingKey {
            case size
            case vocabularySize = "n_vocab"
            case trainedContextSize = "n_ctx_train"
            case parameterCount = "n_params"
        }

        public init(vocabularySize: Int, trainedContextSize: Int, parameterCount: Int, size: Int) {
            self.vocabularySize = vocabularySize
            self.trainedContextSize = trainedContextSize
            self.parameterCount = parameterCount
            self.size = size
        }
    }

    public enum State: String, Codable, Sendable {
        case unloaded, loading, loaded, failed
    }

    enum CodingKeys: String, CodingKey {
        case id, object, created, state, progress, reason, meta, capabilities
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
