package import Foundation
package import JSON

/// One message of a request.
package struct RequestMessage: Codable, Sendable {
    package var role: String
    /// Required in messages of a user or system.
    package var content: MessageContent?
    /// Name of the speaker, passed to the model's chat template if it uses it.
    package var name: String?
    /// An assistant's refusal, instead of content.
    package var refusal: String?
    /// An assistant's reasoning, under the name that this server sends.
    package var reasoningContent: String?
    /// An assistant's reasoning, under the name of other servers.
    package var reasoning: String?

    /// An assistant's tool calls.
    package var toolCalls: [ToolCall]?
    /// The older form of one call.
    package var functionCall: ToolCall.Function?
    /// Id of the call that a message of role `tool` answers.
    package var toolCallID: String?

    // Decoded only to be refused.
    package var audio: JSON?
    package var images: JSON?

    package init(role: String, content: MessageContent?, reasoningContent: String? = nil) {
        self.role = role
        self.content = content
        self.reasoningContent = reasoningContent
    }

    enum CodingKeys: String, CodingKey {
        case role, content, name, refusal, reasoning, audio, images
        case reasoningContent = "reasoning_content"
        case toolCalls = "tool_calls"
        case functionCall = "function_call"
        case toolCallID = "tool_call_id"
    }

    /// All text of a validated message.
    package var text: String { content?.text ?? refusal ?? "" }
}

/// A message's content: a string, or a list of parts.
package enum MessageContent: Codable, Sendable, Equatable {
    case text(String)
    case parts([Part])

    package struct Part: Codable, Sendable, Equatable {
        package var type: String
        package var text: String?
        package var refusal: String?
        /// Set in parts of type `image_url` and `input_image`.
        package var imageURL: ImageURL?
        /// Set in parts of type `input_json`.
        package var data: JSON?

        enum CodingKeys: String, CodingKey {
            case type, text, refusal, data
            case imageURL = "image_url"
        }

        package init(type: String, text: String? = nil, imageURL: ImageURL? = nil) {
            self.type = type
            self.text = text
            self.imageURL = imageURL
        }

        var isImage: Bool { type == "image_url" || type == "input_image" }

        /// What the model reads of a part without an image.
        fileprivate var words: String? { text ?? refusal ?? data.map { String(decoding: $0.bytes, as: UTF8.self) } }
    }

    /// The URL of an image: an object in chat requests, a string in responses requests.
    package struct ImageURL: Codable, Sendable, Equatable {
        package var url: String

        package init(url: String) { self.url = url }

        package init(from decoder: any Decoder) throws {
            struct Object: Decodable { let url: String }
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                url = text
            } else {
                url = try Object(from: decoder).url
            }
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(["url": url])
        }

        static let expected =
            "expected a URL as data:image/png;base64,… (web addresses are read by servers started with --allow-image-urls)"

        /// Whether it is an address of the web.
        package var isRemote: Bool {
            ["http://", "https://"].contains { url.prefix($0.count).lowercased() == $0 }
        }

        /// The decoded file of a base64 `data:` URL (RFC 2397); `nil` for other URLs.
        package var file: Data? {
            let parts = url.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].hasPrefix("data:"), parts[0].hasSuffix(";base64") else { return nil }
            return Data(base64Encoded: String(parts[1]))
        }
    }

    package init(from decoder: any Decoder) throws {
        let isList = (try? decoder.unkeyedContainer()) != nil
        let container = try decoder.singleValueContainer()
        self = isList ? .parts(try container.decode([Part].self)) : .text(try container.decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .parts(let parts): try container.encode(parts)
        }
    }

    /// Whether the content has an image.
    package var hasImage: Bool {
        guard case .parts(let parts) = self else { return false }
        return parts.contains { $0.isImage }
    }

    /// The files of validated images, in order.
    package var imageFiles: [Data] {
        guard case .parts(let parts) = self else { return [] }
        return parts.filter(\.isImage).compactMap { $0.imageURL?.file }
    }

    /// Like `text`, with this character for each image and nowhere else.
    package func text(withImagesAs placeholder: Character) -> String {
        guard case .parts(let parts) = self else { return text }
        return parts.compactMap { part in
            part.isImage ? String(placeholder) : part.words?.filter { $0 != placeholder }
        }.joined(separator: "\n")
    }

    /// All text; parts are joined by line breaks, as in llama.cpp's server.
    package var text: String {
        switch self {
        case .text(let text): text
        case .parts(let parts): parts.compactMap(\.words).joined(separator: "\n")
        }
    }

    /// Whether images are accepted in a place of a request.
    enum Images {
        case seen
        /// The place may have images, but the server has no image encoder.
        case unseen
        /// Of other messages than a user's.
        case userOnly
        /// Of the result of a tool, in chats.
        case noToolResult

        /// Why images are refused; `nil` if they are not.
        var refusal: String? {
            switch self {
            case .seen: nil
            case .unseen:
                "without an image encoder (--mmproj) or an upstream API (--upstream) images are not supported by this "
                    + "server"
            case .userOnly: "only user messages have images"
            case .noToolResult:
                "a tool's result is text only in this API; send its image in a user message, or use /v1/responses"
            }
        }
    }

    /// - Parameters:
    ///   - textTypes: Part types with text, which differ between endpoints.
    ///   - images: Whether images are accepted here.
    func validate(at path: String, textTypes: [String], images: Images = .userOnly) throws(APIError) {
        guard case .parts(let parts) = self else { return }
        for (index, part) in parts.enumerated() {
            let path = "\(path)[\(index)]"
            if part.type == "refusal" {
                guard part.refusal != nil else { throw .init(missing: "\(path).refusal") }
            } else {
                if part.isImage {
                    if let refusal = images.refusal {
                        throw APIError(
                            status: 400, kind: .invalidRequest, message: "\(path).type: \(refusal)",
                            param: "\(path).type", code: "unsupported_parameter")
                    }
                    guard let url = part.imageURL else { throw .init(missing: "\(path).image_url") }
                    guard url.file != nil else {
                        throw .invalid("\(path).image_url", ImageURL.expected)
                    }
                    continue
                }
                if part.type == "input_json", textTypes.contains(part.type) {
                    try part.validateJSON(at: path)
                    continue
                }
                guard textTypes.contains(part.type) else {
                    throw .unsupported("\(path).type", "content parts of type \"\(part.type)\" are")
                }
                guard part.text != nil else { throw .init(missing: "\(path).text") }
            }
        }
    }
}

extension MessageContent.Part {
    /// Limits of a part `input_json`: OpenAI API reference, "Create a decision".
    private static let jsonLimits = (levels: 32, values: 10_000, bytes: 256 << 10)

    fileprivate func validateJSON(at path: String) throws(APIError) {
        guard let data else { throw .init(missing: "\(path).data") }
        let isObjects = data.object != nil || data.array?.allSatisfy { $0.object != nil } == true
        guard isObjects else {
            throw .invalid("\(path).data", "expected an object or an array of objects, found \(data.kind)")
        }
        let limits = Self.jsonLimits
        let (levels, values) = data.extent
        guard levels <= limits.levels, values <= limits.values, data.bytes.count <= limits.bytes else {
            throw .invalid(
                "\(path).data",
                "expected at most \(limits.levels) levels, \(limits.values) values and \(limits.bytes) bytes, found "
                    + "\(levels), \(values) and \(data.bytes.count)")
        }
    }
}

extension JSON {
    /// Levels of containers, and number of values in them.
    fileprivate var extent: (levels: Int, values: Int) {
        let elements = array ?? object?.members.map(\.value)
        guard let elements else { return (0, 1) }
        return elements.reduce((1, 1)) { extent, element in
            let inner = element.extent
            return (max(extent.0, inner.levels + 1), extent.1 + inner.values)
        }
    }
}

extension [RequestMessage] {
    /// Validates the messages. Errors name the path of the invalid field.
    ///
    /// - Parameter seesImages: Whether user messages may have images.
    func validate(seesImages: Bool = false) throws(APIError) {
        guard !isEmpty else { throw .invalid("messages", "must have at least one message") }
        guard count <= 2048 else { throw .invalid("messages", "must have at most 2048 messages, got \(count)") }
        for (index, message) in enumerated() { try message.validate(at: "messages[\(index)]", seesImages) }
    }
}

extension RequestMessage {
    fileprivate func validate(at path: String, _ seesImages: Bool) throws(APIError) {
        try validateCalls(at: path)
        if let audio, audio != .null { throw .unsupported("\(path).audio", "audio is") }
        // Ollama's form.
        if let images, !images.isEmpty {
            throw .unsupported(
                "\(path).images", "images beside the content, instead of in parts of type image_url, are")
        }
        switch role {
        case "system", "developer", "user", "assistant": break
        case "tool": if toolCallID == nil { throw .init(missing: "\(path).tool_call_id") }
        case "function": if name == nil { throw .init(missing: "\(path).name") }
        default:
            throw .invalid("\(path).role", "expected system, developer, user, assistant or tool, found \"\(role)\"")
        }
        guard let content else {
            // SDKs omit the content of an empty assistant message; agents send null for a tool's empty result.
            guard ["assistant", "tool", "function"].contains(role) else { throw .init(missing: "\(path).content") }
            return
        }
        let images: MessageContent.Images =
            switch role {
            case "user": seesImages ? .seen : .unseen
            case "tool", "function": .noToolResult
            default: .userOnly
            }
        try content.validate(at: "\(path).content", textTypes: ["text"], images: images)
    }

    private func validateCalls(at path: String) throws(APIError) {
        let calls = toolCalls ?? []
        if role != "assistant", !calls.isEmpty || functionCall != nil {
            throw .invalid("\(path).tool_calls", "only an assistant calls tools")
        }
        for (index, call) in calls.enumerated() {
            let path = "\(path).tool_calls[\(index)]"
            guard call.id != nil else { throw .init(missing: "\(path).id") }
            if let custom = call.custom, call.type == "custom" {
                guard custom.name != nil else { throw .init(missing: "\(path).custom.name") }
                continue
            }
            guard let function = call.function else { throw .init(missing: "\(path).function") }
            guard function.name?.isEmpty == false else { throw .init(missing: "\(path).function.name") }
        }
        if let functionCall, functionCall.name?.isEmpty != false { throw .init(missing: "\(path).function_call.name") }
    }
}
