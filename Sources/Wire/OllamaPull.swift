/// Body of `POST /api/pull` of Ollama's API.
package struct OllamaPullRequest: Decodable, Sendable {
    package let model: String
    /// Absent: true.
    package let streams: Bool

    private enum CodingKeys: String, CodingKey { case stream }

    package init(from decoder: any Decoder) throws {
        model = try OllamaModelName(from: decoder).model
        streams = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Bool.self, forKey: .stream) ?? true
    }
}

/// A line of the answer to `POST /api/pull`.
package struct OllamaProgress: Codable, Equatable, Sendable {
    package var status: String
    /// Names the file.
    package var digest: String?
    /// Bytes.
    package var total: Int?
    package var completed: Int?

    package static let success = Self("success")

    package init(_ status: String) { self.status = status }
}
