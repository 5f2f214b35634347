import Foundation

/// A transcript as JSON:
///
///     {"type": "LocalLLM.Transcript", "version": 1,
///      "entries": [{"role": "user", "id": "…", "contents": [{"type": "text", "id": "…", "text": "…"}], "options": {}}, …],
///      "omissions": [{"id": "…", "entryIDs": ["…"], "summary": "…"}]}
///
/// Roles are `instructions` (with `tools`), `user` (with `responseFormat`), `reasoning`, `response`, and `tool`: calls
/// (`toolCalls`) or the output of one (`toolName`). Contents have type `text`, `structure`
/// (`source`, `structure`) or `image` (`data`, `url`, `label`).
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
    private enum CodingKeys: String, CodingKey {
        case role, id, contents, options, assets, tools, responseFormat, toolCalls, toolName
    }

    private enum Role: String, Codable { case instructions, user, reasoning, response, tool }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let id = try container.decode(String.self, forKey: .id)
        func segments() throws -> [Transcript.Segment] {
            try container.decode([Transcript.Segment].self, forKey: .contents)
        }
        switch try container.decode(Role.self, forKey: .role) {
        case .instructions:
            let tools = try container.decodeIfPresent([Transcript.ToolDefinition].self, forKey: .tools)
            self = .instructions(.init(id: id, segments: try segments(), toolDefinitions: tools ?? []))
        case .user:
            let options = try container.decodeIfPresent(GenerationOptions.self, forKey: .options)
            let format = try container.decodeIfPresent(Transcript.ResponseFormat.self, forKey: .responseFormat)
            self = .prompt(
                .init(id: id, segments: try segments(), options: options ?? .init(), responseFormat: format))
        case .response:
            let assets = try container.decodeIfPresent([String].self, forKey: .assets)
            self = .response(.init(id: id, assetIDs: assets ?? [], segments: try segments()))
        case .reasoning: self = .reasoning(.init(id: id, segments: try segments()))
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
        case .response(let response):
            try container.encode(Role.response, forKey: .role)
            try container.encode(response.segments, forKey: .contents)
            try container.encode(response.assetIDs, forKey: .assets)
        }
    }
}

extension Transcript.Segment: Codable {
    private enum CodingKeys: String, CodingKey { case type, id, text, source, structure, data, url, label }

    private enum Kind: String, Codable { case text, structure, image }

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
            // As text, whatever the coder makes of URLs and data.
            guard let data = Data(base64Encoded: try container.decode(String.self, forKey: .data)) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .data, in: container, debugDescription: "expected a file in base64")
            }
            let url = try container.decodeIfPresent(String.self, forKey: .url).flatMap { URL(string: $0) }
            let image = Transcript.ImageAttachment(url: url, contents: data)
            let label = try container.decodeIfPresent(String.self, forKey: .label)
            self = .attachment(.init(id: id, content: .image(image), label: label))
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
    private enum CodingKeys: String, CodingKey { case name, schema, isInPrompt }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            schema: try container.decode(GenerationSchema.self, forKey: .schema),
            name: try container.decode(String.self, forKey: .name))
        isInPrompt = try container.decode(Bool.self, forKey: .isInPrompt)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(schema, forKey: .schema)
        try container.encode(isInPrompt, forKey: .isInPrompt)
    }
}

extension Transcript.ToolCall: Codable {
    private enum CodingKeys: String, CodingKey { case id, name, arguments }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id),
            toolName: try container.decode(String.self, forKey: .name),
            arguments: try container.decodeContent(forKey: .arguments))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(toolName, forKey: .name)
        try container.encode(arguments.jsonString, forKey: .arguments)
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
