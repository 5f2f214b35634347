import JSON

/// JSON for coders that do not keep the order of members, such as Foundation's: an object with more than one stores it under
/// `x-order`. Where Apple's framework wrote that name, it lists the object's `properties` instead, and is read as a member.
struct OrderedJSON: Codable {
    var json: JSON

    init(_ json: JSON) { self.json = json }

    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
        static let order = Key(stringValue: "x-order")
        static let properties = Key(stringValue: "properties")
    }

    func encode(to encoder: any Encoder) throws {
        switch json {
        case .object(let object):
            let members = object.members
            var container = encoder.container(keyedBy: Key.self)
            guard !members.contains(where: { $0.name == Key.order.stringValue }) else {
                throw EncodingError.invalidValue(
                    members, .init(codingPath: encoder.codingPath, debugDescription: "'x-order' cannot be a name"))
            }
            for (name, value) in members {
                try container.encode(OrderedJSON(value), forKey: Key(stringValue: name))
            }
            if members.count > 1 { try container.encode(members.map(\.name), forKey: .order) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(OrderedJSON(element)) }
        case .null, .bool, .number, .string: try json.encode(to: encoder)
        }
    }

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            var order = try container.decodeIfPresent([String].self, forKey: .order) ?? []
            var known = Set(order)
            guard known.count == order.count else {
                throw DecodingError.dataCorruptedError(
                    forKey: .order, in: container, debugDescription: "x-order: a name occurs twice")
            }
            let properties = try? container.nestedContainer(keyedBy: Key.self, forKey: .properties).allKeys
            let isOfProperties = !known.isEmpty && known.isSubset(of: (properties ?? []).map(\.stringValue))
            if isOfProperties { (order, known) = ([], []) }
            let others = container.allKeys.map(\.stringValue).filter {
                ($0 != Key.order.stringValue || isOfProperties) && !known.contains($0)
            }
            let members = try (order + others.sorted()).map {
                (name: $0, value: try container.decode(OrderedJSON.self, forKey: Key(stringValue: $0)).json)
            }
            json = .object(JSON.Object(members))
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSON] = []
            while !container.isAtEnd { elements.append(try container.decode(OrderedJSON.self).json) }
            json = .array(elements)
        } else {
            json = try JSON(from: decoder)
        }
    }
}

/// Coded as JSON Schema (draft 2020-12). A decoded schema is encoded again unchanged.
extension GenerationSchema: Codable {
    public func encode(to encoder: any Encoder) throws { try OrderedJSON(json).encode(to: encoder) }
    public init(from decoder: any Decoder) throws {
        self.init(.json(try OrderedJSON(from: decoder).json.propertiesByOrder))
    }
}

extension GenerationSchema: Equatable {
    /// Two schemas are equal if their JSON text is.
    public static func == (one: Self, other: Self) -> Bool { one.debugDescription == other.debugDescription }
}
