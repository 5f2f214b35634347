/// A value as a model generates it: JSON, with properties in order.
public struct GeneratedContent: Sendable, Generable {
    /// What a value is.
    public enum Kind: Sendable, Equatable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([GeneratedContent])
        /// - orderedKeys: The keys of `properties` in the order in which they came.
        case structure(properties: [String: GeneratedContent], orderedKeys: [String])
    }

    public let kind: Kind
    /// Stays the same while the value is streamed; `nil` for values that the app made.
    public let id: GenerationID?
    /// Whether the whole value is there; `false` where a stream has only shown its beginning.
    public let isComplete: Bool

    public init(kind: Kind, id: GenerationID? = nil) { self.init(kind: kind, id: id, isComplete: true) }

    init(kind: Kind, id: GenerationID?, isComplete: Bool) {
        self.kind = kind
        self.id = id
        self.isComplete = isComplete
    }

    public init(_ content: GeneratedContent) { self = content }

    public init(_ value: some ConvertibleToGeneratedContent) { self = value.generatedContent }

    public init(_ value: some ConvertibleToGeneratedContent, id: GenerationID) {
        let content = value.generatedContent
        self.init(kind: content.kind, id: id, isComplete: content.isComplete)
    }

    /// - Precondition: No key occurs twice.
    public init(properties: KeyValuePairs<String, any ConvertibleToGeneratedContent>, id: GenerationID? = nil) {
        self.init(properties: properties.map { ($0.key, $0.value) }, id: id) { _, _ in
            preconditionFailure("GeneratedContent: a key of 'properties' occurs twice.")
        }
    }

    /// - Parameter combine: What becomes of the first and the second value of a key that occurs twice.
    public init(
        properties: some Sequence<(String, any ConvertibleToGeneratedContent)>, id: GenerationID? = nil,
        uniquingKeysWith combine: (GeneratedContent, GeneratedContent) throws -> some ConvertibleToGeneratedContent
    ) rethrows {
        var (values, keys): ([String: GeneratedContent], [String]) = ([:], [])
        for (key, value) in properties {
            if let known = values[key] {
                values[key] = try combine(known, value.generatedContent).generatedContent
            } else {
                values[key] = value.generatedContent
                keys.append(key)
            }
        }
        self.init(kind: .structure(properties: values, orderedKeys: keys), id: id)
    }

    /// The properties of a structure. `@Generable` calls it.
    ///
    /// - Parameter properties: Names that differ, and values; a property that is `nil` is left out.
    public init(structure properties: [(String, any ConvertibleToGeneratedContent)]) {
        let present = properties.filter { !(($0.1 as? any OptionalContent)?.isNil ?? false) }
        self.init(properties: present) { _, last in last }
    }

    public init(elements: some Sequence<any ConvertibleToGeneratedContent>, id: GenerationID? = nil) {
        self.init(kind: .array(elements.map(\.generatedContent)), id: id)
    }

    public var generatedContent: GeneratedContent { self }

    public static var generationSchema: GenerationSchema { GenerationSchema(.any) }
}

extension GeneratedContent: Equatable {
    /// Equal values, whatever their IDs.
    public static func == (one: Self, other: Self) -> Bool { one.kind == other.kind }
}

extension GeneratedContent: CustomDebugStringConvertible {
    public var debugDescription: String { jsonString }
}

// MARK: What is in it

extension GeneratedContent {
    /// The value as one of a type.
    public func value<Value: ConvertibleFromGeneratedContent>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(self)
    }

    /// - Throws: `decodingFailure` where there is no such property, or its value is something else.
    public func value<Value: ConvertibleFromGeneratedContent>(
        _ type: Value.Type = Value.self, forProperty property: String
    ) throws -> Value {
        guard let content = try properties[property] else {
            throw failure("expected a property '\(property)'")
        }
        return try Value(content)
    }

    /// - Returns: `nil` where there is no such property or it is `null`, and where too little of it is there to say what it is.
    public func value<Value: ConvertibleFromGeneratedContent>(
        _ type: Value?.Type = Value?.self, forProperty property: String
    ) throws -> Value? {
        guard let content = try properties[property], content.kind != .null else { return nil }
        return content.isComplete ? try Value(content) : try? Value(content)
    }

    private var properties: [String: GeneratedContent] {
        get throws {
            guard case .structure(let properties, _) = kind else { throw failure("expected an object") }
            return properties
        }
    }

    /// One of some names. `@Generable` reads enumerations without associated values with it.
    public func choice(_ names: [String]) throws -> String {
        guard isComplete, case .string(let name) = kind, names.contains(name) else {
            throw failure("expected one of \(names.joined(separator: ", "))")
        }
        return name
    }

    /// The only property of an object, one of some names. `@Generable` reads enumerations with associated values with it.
    public func choice(of names: [String]) throws -> (name: String, values: GeneratedContent) {
        guard isComplete, case .structure(let properties, let keys) = kind, keys.count == 1, names.contains(keys[0]),
            let values = properties[keys[0]]
        else { throw failure("expected an object with one of the properties \(names.joined(separator: ", "))") }
        return (keys[0], values)
    }

    /// The error for a name that is among those of a type and that no case has. `@Generable` uses it.
    public func unknownChoice(_ name: String) -> any Error { failure("expected a case, not '\(name)'") }

    /// An error that says what was found.
    func failure(_ expected: String) -> LanguageModelSession.GenerationError {
        .decodingFailure(.init(debugDescription: "Generated content: \(expected), found \(jsonString.prefix(200))"))
    }
}

/// Tells `nil` from other values behind an existential.
private protocol OptionalContent {
    var isNil: Bool { get }
}

extension Optional: OptionalContent {
    fileprivate var isNil: Bool { self == nil }
}
