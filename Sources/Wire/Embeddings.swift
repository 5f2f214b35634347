/// Body of `POST /v1/embeddings`.
///
/// Field names and ranges: OpenAI API reference, "Create embeddings"; `messages` instead of `input`, and
/// `truncate_prompt_tokens`, are vLLM's.
package struct EmbeddingRequest: Decodable, Sendable {
    package enum EncodingFormat: String, Sendable { case float, base64 }

    package enum Input: Sendable {
        case texts(TextInput)
        /// A chat as its model's template renders it, with the other fields that a chat has.
        case chat(ChatCompletionRequest)
    }

    /// Absent: the server's only model.
    package var model: String?
    package var input: Input
    package var encodingFormat: String?
    /// Number of leading dimensions to keep; `nil`: all.
    package var dimensions: WholeNumber?
    /// `mean`, `cls` or `last`, an extension: how the tokens' hidden states are pooled into one vector.
    package var pooling: String?
    /// Number of leading tokens of each input to embed, -1: as many as the context has room for.
    package var truncatePromptTokens: WholeNumber?

    /// Whether the request has `input` and `messages`.
    private var hasTwoInputs = false

    private enum CodingKeys: String, CodingKey {
        case model, input, messages, dimensions, pooling
        case encodingFormat = "encoding_format"
        case truncatePromptTokens = "truncate_prompt_tokens"
    }

    /// A request with defaults for all other fields.
    package init(model: String?, input: TextInput) { (self.model, self.input) = (model, .texts(input)) }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        model = try container.decodeIfPresent(String.self, forKey: .model)
        let isChat = try container.contains(.messages) && !container.decodeNil(forKey: .messages)
        hasTwoInputs = isChat && container.contains(.input)
        input =
            isChat
            ? .chat(try ChatCompletionRequest(from: decoder))
            : .texts(try container.decode(TextInput.self, forKey: .input))
        encodingFormat = try container.decodeIfPresent(String.self, forKey: .encodingFormat)
        dimensions = try container.decodeIfPresent(WholeNumber.self, forKey: .dimensions)
        pooling = try container.decodeIfPresent(String.self, forKey: .pooling)
        truncatePromptTokens = try container.decodeIfPresent(WholeNumber.self, forKey: .truncatePromptTokens)
    }

    /// Checks what `Decodable` cannot. Errors name fields as the client spelled them.
    package func validated() throws(APIError) -> Self {
        if hasTwoInputs { throw .invalid("messages", "cannot be combined with 'input'") }
        switch input {
        case .texts(let input): try input.validateAsInput()
        case .chat(let chat): _ = try chat.validated()
        }
        if let encodingFormat, EncodingFormat(rawValue: encodingFormat) == nil {
            throw .invalid("encoding_format", "expected float or base64, found \"\(encodingFormat)\"")
        }
        try checkRange("dimensions", dimensions, 1...Int64.max)
        try checkRange("truncate_prompt_tokens", truncatePromptTokens, -1...Int64.max)
        if truncatePromptTokens?.value == 0 {
            throw .invalid("truncate_prompt_tokens", "must be -1 or at least 1, got 0")
        }
        return self
    }

    package var format: EncodingFormat { encodingFormat.flatMap(EncodingFormat.init) ?? .float }
}

extension TextInput {
    fileprivate func validateAsInput() throws(APIError) {
        guard (1...2048).contains(count) else {
            throw .invalid("input", "must have 1 to 2048 elements, got \(count)")
        }
        let empty =
            switch self {
            case .texts(let texts): texts.firstIndex(of: "")
            case .tokens(let lists): lists.firstIndex(of: [])
            }
        if let empty { throw .invalid(count == 1 ? "input" : "input[\(empty)]", "must not be empty") }
    }
}

/// Response of `POST /v1/embeddings`.
package struct EmbeddingList: Codable, Sendable, Equatable {
    package enum Vector: Codable, Sendable, Equatable {
        case floats([Float])
        /// Base64 of the values as little-endian 32-bit floats.
        case base64(String)

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .base64(text)
            } else {
                self = .floats(try container.decode([Float].self))
            }
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .floats(let values): try container.encode(values)
            case .base64(let text): try container.encode(text)
            }
        }
    }

    package struct Element: Codable, Sendable, Equatable {
        package var object: String
        package var index: Int
        package var embedding: Vector

        package init(object: String, index: Int, embedding: Vector) {
            self.object = object
            self.index = index
            self.embedding = embedding
        }
    }

    package struct Usage: Codable, Sendable, Equatable {
        package var promptTokens: Int
        package var totalTokens: Int

        enum CodingKeys: String, CodingKey {
            case promptTokens = "prompt_tokens"
            case totalTokens = "total_tokens"
        }
    }

    package var object: String
    package var data: [Element]
    package var model: String
    package var usage: Usage

    package init(_ vectors: [Vector], model: String, promptTokens: Int) {
        object = "list"
        data = vectors.enumerated().map { Element(object: "embedding", index: $0.offset, embedding: $0.element) }
        self.model = model
        usage = Usage(promptTokens: promptTokens, totalTokens: promptTokens)
    }
}
