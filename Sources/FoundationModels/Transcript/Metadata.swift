import JSON

/// An app's or a provider's values, as a transcript's JSON has them.
struct Metadata: Codable {
    let values: [String: GeneratedContent]

    init(_ values: [String: GeneratedContent]) { self.values = values }

    init(from decoder: any Decoder) throws {
        values = try [String: OrderedJSON](from: decoder).mapValues { try GeneratedContent(json: $0.json.text) }
    }

    func encode(to encoder: any Encoder) throws { try values.mapValues { OrderedJSON($0.json) }.encode(to: encoder) }
}

extension [String: any ConvertibleToGeneratedContent & Sendable] {
    /// The values as metadata keeps them.
    var contents: [String: GeneratedContent] { mapValues { $0.generatedContent } }
}
