import Foundation
import JSON

/// Values of an app's or a provider's types, compared and stored as JSON.
struct Metadata: Equatable, Codable, Sendable {
    private let json: [String: MetadataValue]

    init(_ values: [String: any Codable & Sendable & Equatable]) { json = values.mapValues { MetadataValue($0) } }

    /// The values; strings, numbers, truth values and lists of one of these as Swift's own types.
    var values: [String: any Codable & Sendable & Equatable] { json.mapValues(\.value) }

    init(from decoder: any Decoder) throws {
        json = try decoder.singleValueContainer().decode([String: MetadataValue].self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(json)
    }
}

/// A value of any type as JSON.
struct MetadataValue: Equatable, Codable, Sendable {
    private let json: JSON

    /// A value that cannot be encoded is stored as its description.
    init(_ value: any Encodable) {
        if let value = value as? MetadataValue {
            json = value.json
        } else if let data = try? JSONEncoder.sorted.encode(value),
            let json = try? JSONDecoder().decode(JSON.self, from: data)
        {
            self.json = json
        } else {
            json = .string("\(value)")
        }
    }

    init(from decoder: any Decoder) throws { json = try JSON(from: decoder) }
    func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    var value: any Codable & Sendable & Equatable {
        switch json {
        case .string(let text): return text
        case .bool(let bool): return bool
        case .number:
            if let int = json.int { return int }
            return json.double ?? .nan
        case .array(let elements):
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : self
        case .null, .object: return self
        }
    }
}

extension JSONEncoder {
    /// Equal values give equal text.
    static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
