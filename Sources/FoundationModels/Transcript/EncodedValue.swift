import Foundation
import JSON

/// A value of any type as JSON.
struct EncodedValue: Equatable, Codable, Sendable {
    private let json: JSON

    /// A value that cannot be encoded is stored as its description.
    init(_ value: any Encodable) {
        if let value = value as? EncodedValue {
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
}

extension JSONEncoder {
    /// Equal values give equal text.
    static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
