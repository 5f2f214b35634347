import Foundation

/// A transcript as JSON:
///
///     {"type": "LocalLLM.Transcript", "version": 1,
///      "entries": [{"role": "user", "id": "…", "contents": [{"type": "text", "id": "…", "text": "…"}], "options": {}}, …],
///      "omissions": [{"id": "…", "entryIDs": ["…"], "summary": "…"}]}
///
/// Roles are `instructions` (with `tools`), `user` (with `responseFormat`), `reasoning`, `response`, and `tool`: calls
/// (`toolCalls`) or the output of one (`toolName`). Contents have type `text`, `structure`
/// (`source`, `structure`), `image` (`data`, `url`, `label`) or `custom` (`content`, `text`). Entries may have `metadata`,
/// prompts `contextOptions`, reasoning a `signature` in base64.
/// Generated values are JSON in a string, which keeps the order of properties. Unknown values are errors, so that no
/// part of a conversation is lost silently.
extension Transcript: Codable {
    private static let type = "LocalLLM.Transcript"
    private static let version = 1

    private enum CodingKeys: String, CodingKey { case type, version, entries, omissions }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.version else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: container,
                debugDescription: "version: expected \(Self.version), found \(version)")
        }
        self.init(
            entries: try container.decode([Entry].self, forKey: .entries),
            omissions: try container.decodeIfPresent([Omission].self, forKey: .omissions) ?? [])
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.type, forKey: .type)
        try container.encode(Self.version, forKey: .version)
        try container.encode(Array(self), forKey: .entries)
        try container.encode(omissions, forKey: .omissions)
    }
}

extension Transcript.Entry: Codable {
    fileprivate enum CodingKeys: String, CodingKey {
        case role, id, contents, options, contextOptions, assets, tools, responseFormat, toolCalls, toolName, metadata
        case signature
    }

    private enum Role: String, Codable { case instructions, user, reasoning, response, tool }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let id = try container.decode(String.self, forKey: .id)
        func segments() throws -> [Transcript.Segment] {
            try container.decode([Transcript.Segment].self, forKey: .contents)
        }
        let metadata = try container.decodeIfPresent(Metadata.self, forKey: .metadata)?.values ?? [:]
        switch try container.decode(Role.self, forKey: .role) {
        case .instructions:
            let tools = try container.decodeIfPresent([Transcript.ToolDefinition].self, forKey: .tools)
            self = .instructions(.init(id: id, segments: try segments(), toolDefinitions: tools ?? []))
        case .user:
            let options = try container.decodeIfPresent(GenerationOptions.self, forKey: .options)
            let format = try container.decodeIfPresent(Transcript.ResponseFormat.self, forKey: .responseFormat)
            let context = try container.decodeIfPresent(ContextOptions.self, forKey: .contextOptions)
            self = .prompt(
                .init(
                    id: id, metadata: metadata, segments: try segments(), options: options ?? .init(),
                    responseFormat: format, contextOptions: context ?? .init()))
        case .response:
            let assets = try container.decodeIfPresent([String].self, forKey: .assets)
            var response = Transcript.Response(id: id, assetIDs: assets ?? [], segments: try segments())
            response.metadata = metadata
            self = .response(response)
        case .reasoning:
            let signature = try container.decodeIfPresent(String.self, forKey: .signature)
            self = .reasoning(
                .init(
                    id: id, metadata: metadata, segments: try segments(),
                    signature: try signature.map { try .init(base64: $0, forKey: .signature, in: container) }))
        case .tool:
            if let calls = try container.decodeIfPresent([Transcript.ToolCall].self, forKey: .toolCalls) {
                self = .toolCalls(.init(id: id, calls))
            } else {
                let name = try container.decode(String.self, forKey: .toolName)
                self = .toolOutput(.init(id: id, toolName: name, segments: try segments()))
            }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        switch self {
        case .instructions(let instructions):
            try container.encode(Role.instructions, forKey: .role)
            try container.encode(instructions.segments, forKey: .contents)
            if !instructions.toolDefinitions.isEmpty {
                try container.encode(instructions.toolDefinitions, forKey: .tools)
            }
        case .prompt(let prompt):
            try container.encode(Role.user, forKey: .role)
            try container.encode(prompt.segments, forKey: .contents)
            try container.encode(prompt.options, forKey: .options)
            try container.encodeIfPresent(prompt.responseFormat, forKey: .responseFormat)
            if prompt.contextOptions != .init() { try container.encode(prompt.contextOptions, forKey: .contextOptions) }
            try container.encode(prompt.metadata)
        case .toolCalls(let calls):
            try container.encode(Role.tool, forKey: .role)
            try container.encode(Array(calls), forKey: .toolCalls)
        case .toolOutput(let output):
            try container.encode(Role.tool, forKey: .role)
            try container.encode(output.toolName, forKey: .toolName)
            try container.encode(output.segments, forKey: .contents)
        case .reasoning(let reasoning):
            try container.encode(Role.reasoning, forKey: .role)
            try container.encode(reasoning.segments, forKey: .contents)
            try container.encodeIfPresent(reasoning.signature?.base64EncodedString(), forKey: .signature)
            try container.encode(reasoning.metadata)
        case .response(let response):
            try container.encode(Role.response, forKey: .role)
            try container.encode(response.segments, forKey: .contents)
            try container.encode(response.assetIDs, forKey: .assets)
            try container.encode(response.metadata)
        }
    }
}

extension KeyedEncodingContainer<Transcript.Entry.CodingKeys> {
    fileprivate mutating func encode(_ metadata: [String: GeneratedContent]) throws {
        if !metadata.isEmpty { try encode(Metadata(metadata), forKey: .metadata) }
    }
}

extension Data {
    /// As text, whatever the coder makes of data.
    fileprivate init<Key>(base64: String, forKey key: Key, in container: KeyedDecodingContainer<Key>) throws {
        guard let data = Data(base64Encoded: base64) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: container, debugDescription: "\(key.stringValue): expected base64")
        }
        self = data
    }
}

extension Transcript.Segment: Codable {
    private enum CodingKeys: String, CodingKey { case type, id, text, source, structure, data, url, label, content }

    private enum Kind: String, Codable { case text, structure, image, custom }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let id = try container.decode(String.self, forKey: .id)
        switch try container.decode(Kind.self, forKey: .type) {
        case .text: self = .text(.init(id: id, content: try container.decode(String.self, forKey: .text)))
        case .structure:
            let source = try container.decode(String.self, forKey: .source)
            let content = try container.decodeContent(forKey: .structure)
            self = .structure(.init(id: id, source: source, content: content))
        case .image:
            let data = try Data(
                base64: try container.decode(String.self, forKey: .data), forKey: .data, in: container)
            let url = try container.decodeIfPresent(String.self, forKey: .url).flatMap { URL(string: $0) }
            let image = Transcript.ImageAttachment(url: url, contents: data)
            let label = try container.decodeIfPresent(String.self, forKey: .label)
            self = .attachment(.init(id: id, content: .image(image), label: label))
        case .custom:
            self = .custom(
                StoredSegment(
                    id: id, content: try container.decode(EncodedValue.self, forKey: .content),
                    description: try container.decode(String.self, forKey: .text)))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        switch self {
        case .text(let segment):
            try container.encode(Kind.text, forKey: .type)
            try container.encode(segment.content, forKey: .text)
        case .structure(let segment):
            try container.encode(Kind.structure, forKey: .type)
            try container.encode(segment.source, forKey: .source)
            try container.encode(segment.content.jsonString, forKey: .structure)
        case .attachment(let segment):
            guard case .image(let image) = segment.content else { return }
            try container.encode(Kind.image, forKey: .type)
            try container.encodeIfPresent(image.url?.absoluteString, forKey: .url)
            try container.encodeIfPresent(segment.label, forKey: .label)
            try container.encode(try image.data.base64EncodedString(), forKey: .data)
        case .custom(let segment):
            try container.encode(Kind.custom, forKey: .type)
            try container.encode(segment.stored.content, forKey: .content)
            try container.encode(segment.description, forKey: .text)
        }
    }
}

extension Transcript.ToolDefinition: Codable {
    private enum CodingKeys: String, CodingKey { case name, description, parameters }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decode(String.self, forKey: .name),
            description: try container.decode(String.self, forKey: .description),
            parameters: try container.decode(GenerationSchema.self, forKey: .parameters))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(description, forKey: .description)
        try container.encode(parameters, forKey: .parameters)
    }
}

extension Transcript.ResponseFormat: Codable {
    private enum CodingKeys: String, CodingKey { case name, schema }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            schema: try container.decode(GenerationSchema.self, forKey: .schema),
            name: try container.decode(String.self, forKey: .name))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(schema, forKey: .schema)
    }
}

extension Transcript.ToolCall: Codable {
    private enum CodingKeys: String, CodingKey { case id, name, arguments, metadata }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id),
            metadata: try container.decodeIfPresent(Metadata.self, forKey: .metadata)?.values ?? [:],
            toolName: try container.decode(String.self, forKey: .name),
            arguments: try container.decodeContent(forKey: .arguments))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(toolName, forKey: .name)
        try container.encode(arguments.jsonString, forKey: .arguments)
        if !metadata.isEmpty { try container.encode(Metadata(metadata), forKey: .metadata) }
    }
}

extension KeyedDecodingContainer {
    fileprivate func decodeContent(forKey key: Key) throws -> GeneratedContent {
        let content = try GeneratedContent(json: try decode(String.self, forKey: key))
        guard content.isComplete else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self,
                debugDescription: "\(key.stringValue): expected JSON, found the beginning of some")
        }
        return content
    }
}
