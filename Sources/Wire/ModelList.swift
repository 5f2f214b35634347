/// Response of `GET /v1/models/{id}`: one model.
public struct ModelCard: Codable, Sendable, Equatable {
    public var id: String
    public var object: String
    /// Unix seconds.
    public var created: Int
    public var ownedBy: String
    /// The model that an adapter changes, under vLLM's name; `nil` for a model.
    public var parent: String?
    /// Loading state; `nil` for a model of the upstream. Like the fields below, not in OpenAI's API.
    public var state: State? = .unloaded
    /// Loading progress, 0...1.
    public var progress: Double?
    /// Why loading failed.
    public var reason: String?

    /// Metadata of the model's file, under llama.cpp's names; absent if unreadable, and for models of the upstream.
    public var meta: Meta?
    /// Tasks that the model supports; absent if its file is unreadable, and for models of the upstream.
    public var capabilities: [Capability]?

    public enum Capability: String, Codable, Sendable {
        case completion, embedding, rerank, multimodal
    }

    public struct Meta: Codable, Sendable, Equatable {
        public var vocabularySize: Int
        public var trainedContextSize: Int
        public var parameterCount: Int
        /// File size in bytes.
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

    /// Loading state of a local model.
    public enum State: String, Codable, Sendable {
        case unloaded, loading, loaded, failed
    }

    enum CodingKeys: String, CodingKey {
        case id, object, created, parent, state, progress, reason, meta, capabilities
        case ownedBy = "owned_by"
    }

    public init(id: String, created: Int, ownedBy: String) {
        self.id = id
        object = "model"
        self.created = created
        self.ownedBy = ownedBy
    }
}

/// Response of `GET /v1/models`.
public struct ModelList: Codable, Sendable, Equatable {
    public var object: String
    public var data: [ModelCard]

    public init(_ models: [ModelCard]) {
        object = "list"
        data = models
    }
}
