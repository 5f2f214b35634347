package import JSON

/// Body of `POST /api/chat` of Ollama's API.
package typealias OllamaChatRequest = OllamaRequest<OllamaChatFields>
/// Body of `POST /api/generate` of Ollama's API.
package typealias OllamaGenerateRequest = OllamaRequest<OllamaGenerateFields>

/// A body of Ollama's API: the fields of one endpoint, and in the same object those that chats and completions share.
///
/// Field names: Ollama's API reference.
@dynamicMemberLookup
package struct OllamaRequest<Fields: Decodable & Sendable>: Decodable, Sendable {
    package var fields: Fields
    private let shared: Shared

    package struct Shared: Decodable, Sendable {
        package let model: String
        /// Absent: true.
        package let stream: Bool?
        /// `"json"` or a JSON schema.
        package let format: JSON?
        package let options: OllamaOptions?
        package let think: OllamaThinking?
        package let keepAlive: KeepAlive?
        package let logprobs: Bool?
        /// 0...20
        package let topLogprobs: WholeNumber?

        enum CodingKeys: String, CodingKey {
            case model, stream, format, options, think, logprobs
            case keepAlive = "keep_alive"
            case topLogprobs = "top_logprobs"
        }
    }

    package init(from decoder: any Decoder) throws {
        fields = try Fields(from: decoder)
        shared = try Shared(from: decoder)
    }

    package subscript<Value>(dynamicMember path: KeyPath<Fields, Value>) -> Value { fields[keyPath: path] }
    package subscript<Value>(dynamicMember path: KeyPath<Shared, Value>) -> Value { shared[keyPath: path] }

    package var streams: Bool { shared.stream != false }
    package var sampling: SamplingFields { shared.options?.sampling ?? .init() }

    /// Number of alternatives to report for each token; `nil`: no probabilities.
    package var alternatives: Int? { shared.logprobs == true ? Int(shared.topLogprobs?.value ?? 0) : nil }

    /// The format that `format` asks for; `nil`: any text.
    package func requestedFormat() throws(APIError) -> RequestedFormat? {
        switch shared.format {
        case nil, .null?, .string("")?: nil
        case .string("json")?: RequestedFormat(field: "format", format: .jsonObject)
        case .object(let schema)?: RequestedFormat(field: "format", format: .jsonSchema(JSON.object(schema).text))
        case let other?: throw .invalid("format", "expected \"json\" or a JSON schema, found \(other.kind)")
        }
    }

    /// Checks the fields that chats and completions share.
    fileprivate func validateShared() throws(APIError) {
        guard !shared.model.isEmpty else { throw .init(missing: "model") }
        try checkRange("top_logprobs", shared.topLogprobs, 0...20)
        if case .level(let level)? = shared.think { try checkReasoningEffort("think", level) }
        try sampling.validate(serving: [])
        _ = try requestedFormat()
    }
}

/// Fields of a chat in Ollama's form.
package struct OllamaChatFields: Decodable, Sendable {
    /// Absent or empty: the model is only loaded.
    package var messages: [OllamaMessage]?
    package var tools: JSON?

    package var hasImage: Bool { messages?.contains { $0.images?.isEmpty == false } == true }
}

/// Fields of a completion in Ollama's form.
package struct OllamaGenerateFields: Decodable, Sendable {
    /// Absent or empty, and no images: the model is only loaded.
    package var prompt: String?
    /// Text after the gap that the answer fills, for models trained for it.
    package var suffix: String?
    package var system: String?
    /// Base64 of image files.
    package var images: [String]?
    /// Whether the prompt is continued as it is, without a chat template.
    package var raw: Bool?
    // Decoded only to be refused.
    package var template: String?
    package var context: JSON?

    package var hasImage: Bool { images?.isEmpty == false }
}

extension OllamaRequest<OllamaChatFields> {
    /// Whether the request loads or unloads the model and generates nothing.
    package var generatesNothing: Bool { fields.messages?.isEmpty != false }

    /// Checks what `Decodable` cannot.
    ///
    /// - Parameter seesImages: Whether messages may have images.
    package func validated(seesImages: Bool) throws(APIError) -> Self {
        try validateShared()
        let messages = fields.messages ?? []
        guard messages.count <= 2048 else {
            throw .invalid("messages", "must have at most 2048 messages, got \(messages.count)")
        }
        for (index, message) in messages.enumerated() { try message.validate(at: "messages[\(index)]", seesImages) }
        return self
    }
}

extension OllamaRequest<OllamaGenerateFields> {
    /// Whether the request loads or unloads the model and generates nothing.
    package var generatesNothing: Bool {
        fields.prompt?.isEmpty != false && fields.suffix?.isEmpty != false && !fields.hasImage
    }

    /// Whether the answer fills the gap before a suffix.
    package var fillsIn: Bool { fields.suffix?.isEmpty == false }

    /// Checks what `Decodable` cannot.
    ///
    /// - Parameter seesImages: Whether the prompt may have images.
    package func validated(seesImages: Bool) throws(APIError) -> Self {
        try validateShared()
        if fields.template?.isEmpty == false {
            throw .unsupported(
                "template", "a template of the request (send the finished prompt with raw: true instead) is")
        }
        if let context = fields.context, !context.isEmpty {
            throw .unsupported("context", "a context of token ids (send the messages to /api/chat instead) is")
        }
        if fields.raw == true || fillsIn {
            let field = fields.raw == true ? "raw" : "suffix"
            if fields.hasImage { throw .invalid(field, "cannot be combined with images") }
            if fields.system?.isEmpty == false { throw .invalid(field, "cannot be combined with system") }
        }
        try OllamaMessage.check(images: fields.images, at: "images", seesImages)
        return self
    }
}

/// `options`: how tokens are chosen and when an answer ends.
package struct OllamaOptions: Decodable, Sendable {
    package let sampling: SamplingFields
    /// Names of options that have no effect here, such as those of loading a model.
    package let withoutEffect: [String]

    package init(from decoder: any Decoder) throws {
        var options = try JSON.Object(from: decoder)
        withoutEffect = options.members.filter { SamplingField.named($0.name) == nil && !$0.value.isNull }.map(\.name)
        // In Ollama's API, -2 fills the context, and a seed of -1 is random.
        if options["num_predict"]?.double == -2 { options["num_predict"] = -1 }
        if options["seed"]?.double == -1 { options["seed"] = nil }
        do {
            sampling = try JSON.object(options).decode()
        } catch DecodingError.typeMismatch(let type, let context) {
            throw DecodingError.typeMismatch(type, context.below(decoder))
        } catch DecodingError.dataCorrupted(let context) {
            throw DecodingError.dataCorrupted(context.below(decoder))
        }
    }
}

extension DecodingError.Context {
    fileprivate func below(_ decoder: any Decoder) -> Self {
        .init(codingPath: decoder.codingPath + codingPath, debugDescription: debugDescription)
    }
}

/// `think`: whether the model reasons, or how much.
package enum OllamaThinking: Decodable, Sendable, Equatable {
    case switched(on: Bool)
    case level(String)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let isOn = try? container.decode(Bool.self) {
            self = .switched(on: isOn)
        } else {
            self = .level(try container.decode(String.self))
        }
    }
}
