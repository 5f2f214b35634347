extension JSON {
    /// Encodes a value with sorted names, so that equal values give equal bytes. A `JSON` in it keeps its order.
    ///
    /// - Throws: `EncodingError` for a number that is not finite.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        let node = try ValueEncoder.node(value)
        var writer = Writer()
        writer.write(node)
        return writer.bytes
    }

    /// The JSON value that a value is encoded as, with sorted names.
    public init(encoding value: some Encodable) throws { self = try ValueEncoder.node(value).json }
}

extension JSON: Encodable {
    /// With other encoders than that of `JSON`, members and numbers become what those keep, mostly without their order.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? ValueEncoder { return encoder.node = .value(self) }
        switch self {
        case .array(let elements): try elements.encode(to: encoder)
        case .object(let object):
            var container = encoder.container(keyedBy: Name.self)
            for (name, value) in object.members { try container.encode(value, forKey: Name(stringValue: name)) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .number(let number):
                if let value = number.integer(Int64.self) {
                    try container.encode(value)
                } else {
                    try container.encode(number.double)
                }
            default: try container.encodeNil()
            }
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// What an encoder has made of a value. Classes, since containers are filled after they were put into their place.
private enum Node {
    case value(JSON)
    case members(MemberNodes)
    case elements(ElementNodes)
    /// Of a superclass, encoded later.
    case encoder(ValueEncoder)
}

private final class MemberNodes {
    var list: [(name: String, node: Node)] = []

    /// Sorted by the bytes of their names. Of members with the same name the last one counts.
    var sorted: [(name: String, node: Node)] {
        let sorted = list.enumerated().sorted { one, other in
            if haveSameBytes(one.element.name, other.element.name) { return one.offset < other.offset }
            return one.element.name.utf8.lexicographicallyPrecedes(other.element.name.utf8)
        }
        return sorted.indices.filter { place in
            place + 1 == sorted.count || !haveSameBytes(sorted[place].element.name, sorted[place + 1].element.name)
        }.map { sorted[$0].element }
    }
}

private final class ElementNodes {
    var list: [Node] = []
}

extension Node {
    var json: JSON {
        switch self {
        case .value(let value): value
        case .members(let members):
            .object(JSON.Object(members.sorted.map { (name: $0.name, value: $0.node.json) }))
        case .elements(let elements): .array(elements.list.map(\.json))
        case .encoder(let encoder): encoder.result.json
        }
    }
}

extension Writer {
    fileprivate mutating func write(_ node: Node) {
        switch node {
        case .value(let value): write(value)
        case .members(let members):
            open("{")
            for (name, node) in members.sorted {
                write(name: name)
                write(node)
            }
            close("}")
        case .elements(let elements):
            open("[")
            for node in elements.list {
                separate()
                write(node)
            }
            close("]")
        case .encoder(let encoder): write(encoder.result)
        }
    }
}

private final class ValueEncoder: Encoder, SingleValueEncodingContainer {
    var node: Node?

    static func node(_ value: some Encodable) throws -> Node {
        let encoder = ValueEncoder()
        try value.encode(to: encoder)
        return encoder.result
    }

    /// An object without members for a value that encodes nothing.
    var result: Node { node ?? .value(.object(JSON.Object())) }
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedEncodingContainer<Key> {
        // A value may ask several times, for each of the types whose members it merges.
        if case .members(let members)? = node { return KeyedEncodingContainer(MemberEncoder(members: members)) }
        let members = MemberNodes()
        node = .members(members)
        return KeyedEncodingContainer(MemberEncoder(members: members))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .elements(let elements)? = node { return ElementEncoder(elements: elements) }
        let elements = ElementNodes()
        node = .elements(elements)
        return ElementEncoder(elements: elements)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    private func encode(number: JSON.Number?, of value: Any) throws {
        guard let number else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "JSON has no number for \(value)"))
        }
        node = .value(.number(number))
    }

    func encodeNil() { node = .value(.null) }
    func encode(_ value: Bool) { node = .value(.bool(value)) }
    func encode(_ value: String) { node = .value(.string(value)) }
    func encode(_ value: Double) throws { try encode(number: JSON.Number(value), of: value) }
    func encode(_ value: Float) throws { try encode(number: JSON.Number(value), of: value) }
    func encode(_ value: Int) { node = .value(JSON(value)) }
    func encode(_ value: Int8) { node = .value(JSON(value)) }
    func encode(_ value: Int16) { node = .value(JSON(value)) }
    func encode(_ value: Int32) { node = .value(JSON(value)) }
    func encode(_ value: Int64) { node = .value(JSON(value)) }
    func encode(_ value: UInt) { node = .value(JSON(value)) }
    func encode(_ value: UInt8) { node = .value(JSON(value)) }
    func encode(_ value: UInt16) { node = .value(JSON(value)) }
    func encode(_ value: UInt32) { node = .value(JSON(value)) }
    func encode(_ value: UInt64) { node = .value(JSON(value)) }
    func encode(_ value: Int128) { node = .value(JSON(value)) }
    func encode(_ value: UInt128) { node = .value(JSON(value)) }
    func encode<T: Encodable>(_ value: T) throws { try value.encode(to: self) }
}

// One generic function meets the protocols' requirements for each type, but for those that have a default: integers of 128
// bits, which that refuses.

private struct MemberEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let members: MemberNodes
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { members.list.append((key.stringValue, .value(.null))) }
    func encode(_ value: Int128, forKey key: Key) { members.list.append((key.stringValue, .value(JSON(value)))) }
    func encode(_ value: UInt128, forKey key: Key) { members.list.append((key.stringValue, .value(JSON(value)))) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        members.list.append((key.stringValue, try ValueEncoder.node(value)))
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy _: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        let nested = MemberNodes()
        members.list.append((key.stringValue, .members(nested)))
        return KeyedEncodingContainer(MemberEncoder<Nested>(members: nested))
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        let nested = ElementNodes()
        members.list.append((key.stringValue, .elements(nested)))
        return ElementEncoder(elements: nested)
    }
    func superEncoder() -> any Encoder { superEncoder("super") }
    func superEncoder(forKey key: Key) -> any Encoder { superEncoder(key.stringValue) }

    private func superEncoder(_ name: String) -> ValueEncoder {
        let encoder = ValueEncoder()
        members.list.append((name, .encoder(encoder)))
        return encoder
    }
}

private struct ElementEncoder: UnkeyedEncodingContainer {
    let elements: ElementNodes
    var codingPath: [any CodingKey] { [] }
    var count: Int { elements.list.count }

    func encodeNil() { elements.list.append(.value(.null)) }
    func encode(_ value: Int128) { elements.list.append(.value(JSON(value))) }
    func encode(_ value: UInt128) { elements.list.append(.value(JSON(value))) }
    func encode<T: Encodable>(_ value: T) throws { elements.list.append(try ValueEncoder.node(value)) }

    func nestedContainer<Nested: CodingKey>(keyedBy _: Nested.Type) -> KeyedEncodingContainer<Nested> {
        let nested = MemberNodes()
        elements.list.append(.members(nested))
        return KeyedEncodingContainer(MemberEncoder<Nested>(members: nested))
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        let nested = ElementNodes()
        elements.list.append(.elements(nested))
        return ElementEncoder(elements: nested)
    }
    func superEncoder() -> any Encoder {
        let encoder = ValueEncoder()
        elements.list.append(.encoder(encoder))
        return encoder
    }
}
