/// A transcript as JSON:
///
///     {"type": "LocalLLM.Transcript", "version": 1,
///      "entries": [{"role": "user", "id": "…", "contents": [{"type": "text", "id": "…", "text": "…"}], "options": {}}, …],
///      "omissions": [{"id": "…", "entryIDs": ["…"], "summary": "…"}]}
///
/// Roles are `instructions`, `user` and `response`. What this version does not know is an error, so that no part of a
/// conversation gets lost unnoticed.
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
    private enum CodingKeys: String, CodingKey { case role, id, contents, options, assets }

    private enum Role: String, Codable { case instructions, user, response }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let id = try container.decode(String.self, forKey: .id)
        let segments = try container.decode([Transcript.Segment].self, forKey: .contents)
        switch try container.decode(Role.self, forKey: .role) {
        case .instructions: self = .instructions(.init(id: id, segments: segments))
        case .user:
            let options = try container.decodeIfPresent(GenerationOptions.self, forKey: .options)
            self = .prompt(.init(id: id, segments: segments, options: options ?? .init()))
        case .response:
            let assets = try container.decodeIfPresent([String].self, forKey: .assets)
            self = .response(.init(id: id, assetIDs: assets ?? [], segments: segments))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        switch self {
        case .instructions(let instructions):
            try container.encode(Role.instructions, forKey: .role)
            try container.encode(instructions.segments, forKey: .contents)
        case .prompt(let prompt):
            try container.encode(Role.user, forKey: .role)
            try container.encode(prompt.segments, forKey: .contents)
            try container.encode(prompt.options, forKey: .options)
        case .response(let response):
            try container.encode(Role.response, forKey: .role)
            try container.encode(response.segments, forKey: .contents)
            try container.encode(response.assetIDs, forKey: .assets)
        }
    }
}

extension Transcript.Segment: Codable {
    private enum CodingKeys: String, CodingKey { case type, id, text }

    private enum Kind: String, Codable { case text }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(Kind.self, forKey: .type) {
        case .text:
            self = .text(
                .init(
                    id: try container.decode(String.self, forKey: .id),
                    content: try container.decode(String.self, forKey: .text)))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .text(let segment):
            try container.encode(Kind.text, forKey: .type)
            try container.encode(segment.id, forKey: .id)
            try container.encode(segment.content, forKey: .text)
        }
    }
}
