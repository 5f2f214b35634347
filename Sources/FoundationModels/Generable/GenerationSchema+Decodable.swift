import Foundation
import JSON

extension GenerationSchema {
    /// The schema of a type without `@Generable`, read off its `init(from:)`, which runs once on made-up values.
    ///
    /// Structures, lists, dictionaries with `String` keys, optional properties, numbers, `String`, `Bool`, `URL` and `UUID`
    /// have one, and so do enumerations that are `CaseIterable` with raw values. Properties are generated in the order in
    /// which they are decoded. A value that follows the schema can be
    /// decoded unless `init(from:)` has demands of its own.
    ///
    /// - Throws: `LanguageModelError.unsupportedGenerationGuide`, with the type and the reason: for other enumerations, types
    ///   that contain themselves, classes that inherit, `Date`, `Data`, and types that reject the made-up values.
    public init<Value: Decodable>(decoding type: Value.Type) throws {
        self.init(try Shape.of(type, within: []).node, name: String(describing: type))
    }
}

/// The schema of a type, and a made-up value of it.
private struct Shape<Value> {
    let node: SchemaNode
    let value: Value

    /// - Parameter outer: The types that contain this one, without lists and dictionaries.
    static func of(_ type: Value.Type, within outer: [Any.Type]) throws -> Self where Value: Decodable {
        if let leaf = Leaf.of(type), let value = leaf.value as? Value { return Self(node: leaf.node, value: value) }
        guard type != Date.self, type != Data.self else {
            throw Leaf.failure(type, "has no form that a model could write; decode a String")
        }
        guard !outer.contains(where: { $0 == type }) else { throw Leaf.failure(type, "contains itself") }
        let walk = SchemaWalk(type is any Collection.Type ? outer : outer + [type])
        let value: Value
        do {
            value = try Value(from: walk)
        } catch let error as LanguageModelError {
            throw error
        } catch {
            throw walk.refusal(of: type, error)
        }
        if walk.asksForNames, !(type is any NamedValues.Type) { throw walk.refusal(of: type) }
        return Self(node: walk.schema(isDictionary: type is any NamedValues.Type), value: value)
    }
}

/// A type whose schema is known without running its `init(from:)`.
private struct Leaf {
    let node: SchemaNode
    let value: Any

    static func of(_ type: Any.Type) -> Leaf? {
        switch type {
        case is Bool.Type: Leaf(node: .boolean, value: false)
        case is String.Type: Leaf(node: .string([]), value: "")
        case is Double.Type: Leaf(node: .type(Double.self), value: 0.0)
        case is Float.Type: Leaf(node: .type(Float.self), value: Float(0))
        case is Decimal.Type: Leaf(node: .type(Decimal.self), value: Decimal(0))
        case is UUID.Type: Leaf(node: text(format: "uuid"), value: UUID())
        case is URL.Type: Leaf(node: text(format: "uri"), value: URL(filePath: "/"))
        case let type as any FixedWidthInteger.Type: integer(type)
        case let type as any (CaseIterable & RawRepresentable).Type: choice(type)
        default: nil
        }
    }

    private static func text(format: String) -> SchemaNode {
        .json(.ordered([("type", .string("string")), ("format", .string(format))]))
    }

    private static func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Leaf {
        var limits: [SchemaNode.Limit] = []
        if !Value.isSigned || Value.bitWidth < 64 { limits.append(.minimum(JSON(Int(Value.min)))) }
        if Value.bitWidth < 53 { limits.append(.maximum(JSON(Int(Value.max)))) }
        return Leaf(node: .integer(limits), value: Value.zero)
    }

    private static func choice<Value: CaseIterable & RawRepresentable>(_ type: Value.Type) -> Leaf? {
        let raw = Value.allCases.map { $0.rawValue }
        guard let value = Value.allCases.first else { return nil }
        if let texts = raw as? [String] { return Leaf(node: .choices(description: nil, texts), value: value) }
        guard let numbers = raw as? [Int] else { return nil }
        return Leaf(node: .json(.ordered([("enum", .array(numbers.map { JSON($0) }))])), value: value)
    }

    static func failure(_ type: Any.Type, _ reason: String) -> LanguageModelError {
        .unsupportedGenerationGuide(
            .init(schemaName: "\(type)", debugDescription: "No schema can be derived from \(type): it \(reason)."))
    }
}

/// A dictionary that is a JSON object.
private protocol NamedValues {}
extension Dictionary: NamedValues where Key == String {}

/// Notes what an `init(from:)` asks for.
private final class SchemaWalk: Decoder {
    /// The type that is decoded, after those that contain it; without lists and dictionaries.
    private let types: [Any.Type]
    private var node: SchemaNode?
    private var properties: [SchemaNode.Property] = []
    /// Names of properties for which `null` was asked.
    private var optional: Set<String> = []
    /// Whether the value itself may be `null`.
    fileprivate var isOptional = false
    /// Whether the names of an object's members were asked.
    fileprivate var asksForNames = false

    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    init(_ types: [Any.Type]) { self.types = types }

    func schema(isDictionary: Bool) -> SchemaNode {
        if isDictionary, let value = properties.first?.value { return .dictionary(of: value) }
        let node = node ?? .object(description: nil, properties)
        return isOptional ? .anyOf(description: nil, [node, .null]) : node
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members(walk: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { Elements(walk: self) }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(walk: self) }

    // MARK: What is asked for

    fileprivate func property<Value: Decodable>(_ name: String, _ type: Value.Type) throws -> Value {
        let shape = try Shape.of(type, within: types)
        if !properties.contains(where: { $0.name == name }) {
            properties.append(
                .init(name: name, description: nil, isOptional: optional.contains(name), value: shape.node))
        }
        return shape.value
    }

    fileprivate func mayBeNull(_ name: String) { optional.insert(name) }

    fileprivate func element<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let shape = try Shape.of(type, within: types)
        node = .array(of: shape.node, [])
        return shape.value
    }

    fileprivate func single<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let shape = try Shape.of(type, within: types)
        node = shape.node
        return shape.value
    }

    // MARK: Why it cannot be had

    /// - Parameter error: What the type threw.
    func refusal(of type: Any.Type, _ error: (any Error)? = nil) -> LanguageModelError {
        if asksForNames {
            return Leaf.failure(type, "decides by the names that it finds, as enumerations with associated values do")
        }
        guard !(type is any RawRepresentable.Type) else {
            return Leaf.failure(type, "is not CaseIterable, so its raw values are not known")
        }
        return Leaf.failure(type, "rejects made-up values (\(error.map { "\($0)" } ?? ""))")
    }

    fileprivate func refuse(_ reason: String) -> LanguageModelError { Leaf.failure(types.last ?? Never.self, reason) }

    // MARK: Containers

    /// The generic functions stand for those of each standard type. A property that may be missing is asked for by
    /// `decodeNil` first.
    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let walk: SchemaWalk
        var codingPath: [any CodingKey] { [] }

        var allKeys: [Key] {
            walk.asksForNames = true
            return [Key(stringValue: "name")].compactMap { $0 }
        }

        func contains(_ key: Key) -> Bool { true }

        func decodeNil(forKey key: Key) throws -> Bool {
            walk.mayBeNull(key.stringValue)
            return false
        }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try walk.property(key.stringValue, type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw walk.refuse("nests containers by hand") }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            throw walk.refuse("nests containers by hand")
        }

        func superDecoder() throws -> any Decoder { throw walk.refuse("inherits from another class") }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw walk.refuse("inherits from another class") }
    }

    /// A list of one element.
    private struct Elements: UnkeyedDecodingContainer {
        let walk: SchemaWalk
        var codingPath: [any CodingKey] { [] }
        var count: Int? { nil }
        var currentIndex = 0
        var isAtEnd: Bool { currentIndex > 0 }

        func decodeNil() throws -> Bool { false }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            guard !isAtEnd else { throw walk.refuse("is a list of a certain length") }
            currentIndex += 1
            return try walk.element(type)
        }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
            throw walk.refuse("nests containers by hand")
        }

        func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            throw walk.refuse("nests containers by hand")
        }

        func superDecoder() throws -> any Decoder { throw walk.refuse("inherits from another class") }
    }

    private struct Single: SingleValueDecodingContainer {
        let walk: SchemaWalk
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool {
            walk.isOptional = true
            return false
        }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try walk.single(type) }
    }
}
