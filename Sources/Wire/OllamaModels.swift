package import JSON

/// Response of `GET /api/tags` and `GET /api/ps` of Ollama's API.
package struct OllamaModelList: Encodable, Sendable {
    package struct Model: Encodable, Sendable {
        /// `NAME:latest`
        package var name: String
        package var model: String
        /// RFC 3339; only in `/api/tags`.
        package var modifiedAt: String?
        /// Bytes of the file.
        package var size: Int
        /// 64 hexadecimal digits that differ between files and their versions.
        package var digest: String
        package var details: OllamaModelDetails

        // Only in `/api/ps`:
        package var expiresAt: String?
        package var sizeVRAM: Int?
        package var contextLength: Int?

        enum CodingKeys: String, CodingKey {
            case name, model, size, digest, details
            case modifiedAt = "modified_at"
            case expiresAt = "expires_at"
            case sizeVRAM = "size_vram"
            case contextLength = "context_length"
        }

        package init(name: String, size: Int, digest: String, details: OllamaModelDetails) {
            (self.name, model, self.size, self.digest, self.details) = (name, name, size, digest, details)
        }
    }

    package var models: [Model]

    package init(_ models: [Model]) { self.models = models }
}

package struct OllamaModelDetails: Encodable, Sendable {
    package var parentModel = ""
    /// `gguf` or `safetensors`.
    package var format: String
    /// The architecture.
    package var family: String
    package var families: [String]
    /// `494.03M`
    package var parameterSize: String
    package var quantizationLevel: String

    enum CodingKeys: String, CodingKey {
        case format, family, families
        case parentModel = "parent_model"
        case parameterSize = "parameter_size"
        case quantizationLevel = "quantization_level"
    }

    package init(format: String, family: String, parameters: Int, quantization: String) {
        (self.format, self.family, families) = (format, family, [family])
        let (divisor, unit) = parameters >= 1_000_000_000 ? (1_000_000_000, "B") : (1_000_000, "M")
        let tenths = (parameters / (divisor / 10)) % 10
        parameterSize = "\(parameters / divisor).\(tenths)\(unit)"
        quantizationLevel = quantization
    }
}

/// Response of `POST /api/show`.
package struct OllamaModelDescription: Encodable, Sendable {
    package var license: String?
    package var modelfile: String
    package var parameters: String
    package var template: String
    package var details: OllamaModelDetails
    package var modelInfo: JSON.Object
    /// `completion`, `embedding`, `tools`, `thinking`, `vision`, `insert`
    package var capabilities: [String]
    package var modifiedAt: String

    enum CodingKeys: String, CodingKey {
        case license, modelfile, parameters, template, details, capabilities
        case modelInfo = "model_info"
        case modifiedAt = "modified_at"
    }

    package init(
        license: String?, modelfile: String, template: String, details: OllamaModelDetails, modelInfo: JSON.Object,
        capabilities: [String], modifiedAt: String
    ) {
        (self.license, self.modelfile, self.template, self.details) = (license, modelfile, template, details)
        (self.modelInfo, self.capabilities, self.modifiedAt) = (modelInfo, capabilities, modifiedAt)
        parameters = ""
    }
}

/// A body that names a model and nothing else, of `/api/show`, `/api/delete` and others.
package struct OllamaModelName: Decodable, Sendable {
    package let model: String

    private enum CodingKeys: String, CodingKey { case model, name }

    /// `name` is the older name of the field.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        model =
            try container.decodeIfPresent(String.self, forKey: .model)
            ?? container.decodeIfPresent(String.self, forKey: .name)
            ?? container.decode(String.self, forKey: .model)
    }
}

/// Body of `POST /api/embed`, and with `prompt` of the older `POST /api/embeddings`.
package struct OllamaEmbedRequest: Decodable, Sendable {
    package let model: String
    /// Absent or empty: the model is only loaded.
    package let input: TextInput?
    package let prompt: String?
    /// Whether inputs that are too long are cut. Absent: true.
    package let truncate: Bool?
    package let dimensions: WholeNumber?
    package let keepAlive: KeepAlive?
    package let options: OllamaOptions?

    enum CodingKeys: String, CodingKey {
        case model, input, prompt, truncate, dimensions, options
        case keepAlive = "keep_alive"
    }

    /// The request as `POST /v1/embeddings` takes it, for the model with this id; `nil` if there is nothing to embed.
    package func request(for id: String) -> EmbeddingRequest? {
        let texts = prompt.flatMap { $0.isEmpty ? nil : TextInput.texts([$0]) }
        guard let input = input ?? texts, input.count > 0 else { return nil }
        var request = EmbeddingRequest(model: id, input: input)
        request.dimensions = dimensions
        request.truncatePromptTokens = truncate == false ? nil : WholeNumber(-1)
        return request
    }
}

/// Response of `POST /api/embed`.
package struct OllamaEmbeddings: Encodable, Sendable {
    package var model: String
    package var embeddings: [[Float]] = []
    /// Nanoseconds.
    package var totalDuration: Int
    package var loadDuration: Int
    package var promptEvalCount: Int

    enum CodingKeys: String, CodingKey {
        case model, embeddings
        case totalDuration = "total_duration"
        case loadDuration = "load_duration"
        case promptEvalCount = "prompt_eval_count"
    }

    package init(model: String, totalDuration: Int, loadDuration: Int, promptEvalCount: Int) {
        (self.model, self.totalDuration) = (model, totalDuration)
        (self.loadDuration, self.promptEvalCount) = (loadDuration, promptEvalCount)
    }
}
