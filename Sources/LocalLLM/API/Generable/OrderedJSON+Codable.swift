import Foundation

/// Foundation's coders do not keep order, so an object with more than one property stores it under `x-order`.
extension OrderedJSON: Codable {
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
        static let order = Key(stringValue: "x-order")
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Key.self)
            guard !members.contains(where: { $0.key == Key.order.stringValue }) else {
                throw EncodingError.invalidValue(
                    members, .init(codingPath: encoder.codingPath, debugDescription: "'x-order' cannot be a name"))
            }
            for (key, value) in members { try container.encode(value, forKey: Key(stringValue: key)) }
            if members.count > 1 { try container.encode(members.map(\.key), forKey: .order) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null: try scalar(encoder) { try $0.encodeNil() }
        case .bool(let bool): try scalar(encoder) { try $0.encode(bool) }
        case .int(let int): try scalar(encoder) { try $0.encode(int) }
        case .double(let double): try scalar(encoder) { try $0.encode(double) }
        case .string(let text): try scalar(encoder) { try $0.encode(text) }
        }
    }

    private func scalar(
        _ encoder: any Encoder, _ body: (inout any SingleValueEncodingContainer) throws -> Void
    ) throws {
        var container = encoder.singleValueContainer()
        try body(&container)
    }

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            let order = try container.decodeIfPresent([String].self, forKey: .order) ?? []
            let known = Set(order)
            guard known.count == order.count else {
                throw DecodingError.dataCorruptedError(
                    forKey: .order, in: container, debugDescription: "x-order: a name occurs twice")
            }
            let others = container.allKeys.map(\.stringValue).filter {
                $0 != Key.order.stringValue && !known.contains($0)
            }
            self = .object(
                try (order + others.sorted()).map {
                    ($0, try container.decode(OrderedJSON.self, forKey: Key(stringValue: $0)))
                })
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [OrderedJSON] = []
            while !container.isAtEnd { elements.append(try container.decode(OrderedJSON.self)) }
            self = .array(elements)
        } else {
            let scalar = try decoder.singleValueContainer()
            if scalar.decodeNil() {
                self = .null
            } else if let bool = try? scalar.decode(Bool.self) {
                self = .bool(bool)
            } else if let int = try? scalar.decode(Int.self) {
                self = .int(int)
            } else if let double = try? scalar.decode(Double.self) {
                self = .double(double)
            } else {
                self = .string(try scalar.decode(String.self))
            }
        }
    }
}

/// Coded as JSON Schema (draft 2020-12). A decoded schema is encoded again unchanged.
extension GenerationSchema: Codable {
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
    public init(from decoder: any Decoder) throws { self.init(.json(try OrderedJSON(from: decoder))) }
}

extension GenerationSchema: Equatable {
    /// Two schemas are equal if their JSON text is.
    public static func == (one: Self, other: Self) -> Bool { one.debugDescription == other.debugDescription }
}
