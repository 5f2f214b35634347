/// Response of `GET /v1/models/{id}`: one model.
package struct ModelCard: Codable, Sendable, Equatable {
    package var id: String
    package var object: String
    /// Unix seconds.
    package var created: Int
    package var ownedBy: String
    /// The model that an adapter changes, under vLLM's name; `nil` for a model.
    package var parent: String?
    /// Loading state; `nil` for a model of the upstream. Like the fields below, not in OpenAI's API.
    package var state: State? = .unloaded
    /// Loading progress, 0...1.
    package var progress: Double?
    /// Why loading failed.
    package var reason: String?

    /// Metadata of the model's file, under llama.cpp's names; absent if unreadable, and for models of the upstream.
    package var meta: Meta?
    /// Tasks that the model supports; absent if its file is unreadable, and for models of the upstream.
    package var capabilities: [Capability]?

    package enum Capability: String, Codable, Sendable {
        case completion, embedding, rerank, multimodal
    }

    package struct Meta: Codable, Sendable, Equatable {
        package var vocabularySize: Int
        package var trainedContextSize: Int
        package var parameterCount: Int
        /// File size in bytes.
        package var size: Int

        enum CodingKeys: String, CodingKey {
            case size
            case vocabularySize = "n_vocab"
            case trainedContextSize = "n_ctx_train"
            case parameterCount = "n_params"
        }

        package init(vocabularySize: Int, trainedContextSize: Int, parameterCount: Int, size: Int) {
            self.vocabularySize = vocabularySize
            self.trainedContextSize = trainedContextSize
            self.parameterCount = parameterCount
            self.size = size
        }
    }

    /// Loading state of a local model.
    package enum State: String, Codable, Sendable {
        case unloaded, loading, loaded, failed
    }

    enum CodingKeys: String, CodingKey {
        case id, object, created, parent, state, progress, reason, meta, capabilities
        case ownedBy = "owned_by"
    }

    package init(id: String, created: Int, ownedBy: String) {
        self.id = id
        object = "model"
        self.created = created
        self.ownedBy = ownedBy
    }
}

/// Response of `GET /v1/models`.
package struct ModelList: Codable, Sendable, Equatable {
    package var object: String
    package var data: [ModelCard]

    package init(_ models: [ModelCard]) {
        object = "list"
        data = models
    }
}
