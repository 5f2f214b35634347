/// A field that clients send as one value or as a list.
package struct OneOrMany<Element: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    package var elements: [Element]

    package init(_ elements: [Element]) { self.elements = elements }

    package init(from decoder: any Decoder) throws {
        let isList = (try? decoder.unkeyedContainer()) != nil
        let container = try decoder.singleValueContainer()
        elements = isList ? try container.decode([Element].self) : [try container.decode(Element.self)]
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if elements.count == 1 {
            try container.encode(elements[0])
        } else {
            try container.encode(elements)
        }
    }
}

/// A 64-bit integer. For 1.5 decoded as `Int`, Foundation would report invalid JSON without a path.
package struct WholeNumber: Codable, Sendable, Equatable {
    package var value: Int64

    package init(_ value: Int64) { self.value = value }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int64.self) {
            self.value = value
        } else {
            let number = try container.decode(Double.self)
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "expected a whole number of 64 bits, found \(number)")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }

    /// The value as a limit, where -1 means that there is none.
    package var limit: Int64? { value < 0 ? nil : value }
}

/// An optional field that is encoded as `null` instead of omitted, since typed clients require the key.
@propertyWrapper
package struct Null<Value: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    package var wrappedValue: Value?

    package init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension KeyedDecodingContainer {
    /// Called by synthesized code for a `Null` field, which may also be absent.
    package func decode<Value>(_ type: Null<Value>.Type, forKey key: Key) throws -> Null<Value> {
        try decodeIfPresent(type, forKey: key) ?? Null(wrappedValue: nil)
    }
}
