extension JSON {
    /// Decodes a type from this value.
    ///
    /// - Throws: `DecodingError`. The description of a mismatch says what was expected and what was found.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T { try ValueDecoder(self, .root).decode(type) }
}

extension JSON: Decodable {
    /// Other decoders than that of `JSON` give members and numbers as they keep them, mostly without their order.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? ValueDecoder {
            self = decoder.value
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self.init(value)
        } else if let value = try? container.decode(Double.self) {
            self.init(value)
        } else if let elements = try? container.decode([JSON].self) {
            self = .array(elements)
        } else {
            let members = try container.decode([String: JSON].self)
            self = .object(Object(members.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }))
        }
    }
}

/// Where a value stands, from the inside out; most are never asked for.
private indirect enum Path {
    case root
    case member(any CodingKey, in: Path)
    case element(Int, in: Path)

    var keys: [any CodingKey] {
        var (keys, path): ([any CodingKey], Path) = ([], self)
        while true {
            switch path {
            case .root: return keys.reversed()
            case .member(let key, let outer): (keys, path) = (keys + [key], outer)
            case .element(let index, let outer): (keys, path) = (keys + [PathKey(index)], outer)
            }
        }
    }
}

/// A position in an array, or a name.
private struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ index: Int) { (stringValue, intValue) = ("Index \(index)", index) }
    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init(intValue: Int) { self.init(intValue) }
}

/// Immutable.
private final class ValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSON
    let path: Path

    init(_ value: JSON, _ path: Path) {
        self.value = value
        self.path = path
    }

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func container<Key: CodingKey>(keyedBy _: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = value else { throw mismatch([String: Any].self, "an object") }
        return KeyedDecodingContainer(Members(object: object, path: path))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([Any].self, "an array") }
        return Elements(elements: elements, path: path)
    }

    // MARK: Values

    private func mismatch(_ type: any Any.Type, _ expected: String) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: "expected \(expected), found \(value.kind)")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    func decodeNil() -> Bool { value.isNull }

    func decode(_: Bool.Type) throws -> Bool {
        guard case .bool(let value) = value else { throw mismatch(Bool.self, "true or false") }
        return value
    }

    func decode(_: String.Type) throws -> String {
        guard case .string(let value) = value else { throw mismatch(String.self, "a string") }
        return value
    }

    private func number(_ type: any Any.Type, _ expected: String) throws -> JSON.Number {
        guard case .number(let number) = value else { throw mismatch(type, expected) }
        return number
    }

    private func outOfRange(_ number: JSON.Number, _ expected: String) -> DecodingError {
        // Of any length.
        let found = number.text.utf8.count > 40 ? "\(number.text.prefix(40))…" : number.text
        return .dataCorrupted(.init(codingPath: codingPath, debugDescription: "expected \(expected), found \(found)"))
    }

    func decode(_: Double.Type) throws -> Double {
        let number = try number(Double.self, "a number")
        guard number.double.isFinite else { throw outOfRange(number, "a number of 64 bits") }
        return number.double
    }

    func decode(_: Float.Type) throws -> Float {
        let number = try number(Float.self, "a number")
        guard let value = Float(number.text), value.isFinite else { throw outOfRange(number, "a number of 32 bits") }
        return value
    }

    private func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        let number = try number(type, "a whole number")
        guard let value = number.integer(type) else {
            throw outOfRange(number, "a whole number of \(T.bitWidth) bits\(T.isSigned ? "" : ", not negative")")
        }
        return value
    }

    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

    func decode<T: Decodable>(_: T.Type) throws -> T { try T(from: self) }
}

// One generic function meets the protocols' requirements for each type, but for those that have a default: integers of 128
// bits, which that refuses.

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSON.Object
    let path: Path

    var codingPath: [any CodingKey] { path.keys }
    var allKeys: [Key] { object.members.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }

    private func decoder(_ key: Key) throws -> ValueDecoder {
        guard let value = object[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key, .init(codingPath: codingPath, debugDescription: "\"\(key.stringValue)\" is missing"))
        }
        return ValueDecoder(value, .member(key, in: path))
    }

    /// `nil` for a member that is missing or null.
    private func present(_ key: Key) -> ValueDecoder? {
        guard let value = object[key.stringValue], !value.isNull else { return nil }
        return ValueDecoder(value, .member(key, in: path))
    }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try decoder(key).decode(type) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try decoder(key).decode(type) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder(key).decode(type) }

    // The default implementations look a member up three times.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try present(key)?.decode(type) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try present(key)?.decode(type) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key)?.decode(type) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try present(key)?.decode(type) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try present(key)?.decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder {
        ValueDecoder(object["super"] ?? .null, .member(PathKey(stringValue: "super"), in: path))
    }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct Elements: UnkeyedDecodingContainer {
    let elements: [JSON]
    let path: Path
    private(set) var currentIndex = 0

    init(elements: [JSON], path: Path) {
        self.elements = elements
        self.path = path
    }

    var codingPath: [any CodingKey] { path.keys }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private func next(_ type: any Any.Type) throws -> ValueDecoder {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type, .init(codingPath: codingPath + [PathKey(currentIndex)], debugDescription: "the array has ended"))
        }
        return ValueDecoder(elements[currentIndex], .element(currentIndex, in: path))
    }

    /// The next element, passed only if it can be decoded.
    private mutating func pass<T>(_ decode: (ValueDecoder) throws -> T) throws -> T {
        let value = try decode(next(T.self))
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard try next(Never.self).decodeNil() else { return false }
        currentIndex += 1
        return true
    }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try pass { try $0.decode(type) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try pass { try $0.decode(type) } }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try pass { try $0.decode(type) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try pass { try $0.container(keyedBy: type) } }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try pass { try $0.unkeyedContainer() }
    }
    mutating func superDecoder() throws -> any Decoder { try pass { $0 } }
}
