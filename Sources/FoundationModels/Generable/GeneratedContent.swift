/// A generated value: JSON with ordered properties.
public struct GeneratedContent: Sendable, Generable {
    /// The JSON type of a value.
    public enum Kind: Sendable, Equatable {
        /// JSON's `null`: an optional without a value.
        case null
        /// JSON's `true` or `false`.
        case bool(Bool)
        /// Any JSON number. Whole numbers are exact up to 2^53.
        case number(Double)
        /// A string without JSON's escapes, or a text answer.
        case string(String)
        /// The elements in order; of a streamed value, those that have begun.
        case array([GeneratedContent])
        /// - orderedKeys: The keys of `properties` in the order of generation.
        case structure(properties: [String: GeneratedContent], orderedKeys: [String])
    }

    /// The value with its JSON type; those of nested values are in it.
    public let kind: Kind
    /// Identifies the value while it is streamed; `nil` for values that the app made.
    public var id: GenerationID?
    /// `false` if only a prefix of the value has been generated.
    public let isComplete: Bool

    /// A complete value.
    public init(kind: Kind, id: GenerationID? = nil) { self.init(kind: kind, id: id, isComplete: true) }

    init(kind: Kind, id: GenerationID?, isComplete: Bool) {
        self.kind = kind
        self.id = id
        self.isComplete = isComplete
    }

    /// The same content, so that `GeneratedContent` can be the arguments of a tool or the type of an answer.
    public init(_ content: GeneratedContent) { self = content }

    /// The content of a value, such as a string, a number or a `@Generable` structure.
    public init(_ value: some ConvertibleToGeneratedContent) { self = value.generatedContent }

    /// The content of a value, with an id that views recognize it by while it changes.
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

    /// - Parameter combine: Merges the first and the second value of a key that occurs twice.
    public init<Properties: Sequence<(String, any ConvertibleToGeneratedContent)>>(
        properties: Properties, id: GenerationID? = nil,
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

    /// The properties of a structure. For code that `@Generable` generates.
    ///
    /// - Parameters:
    ///   - properties: Distinct names with values.
    ///   - explicitNil: Whether properties that are `nil` are `null`; else they are omitted.
    public init(
        structure properties: [(String, any ConvertibleToGeneratedContent)],
        representNilExplicitlyInGeneratedContent explicitNil: Bool = false
    ) {
        let present = properties.filter { explicitNil || !(($0.1 as? any OptionalContent)?.isNil ?? false) }
        self.init(properties: present) { _, last in last }
    }

    /// An array. The elements may have different types.
    public init(elements: some Sequence<any ConvertibleToGeneratedContent>, id: GenerationID? = nil) {
        self.init(kind: .array(elements.map(\.generatedContent)), id: id)
    }

    public var generatedContent: GeneratedContent { self }

    public static var generationSchema: GenerationSchema { GenerationSchema(.any) }
}

extension GeneratedContent: Equatable {
    /// Compares the values; IDs are ignored.
    public static func == (one: Self, other: Self) -> Bool { one.kind == other.kind }
}

extension GeneratedContent: CustomDebugStringConvertible {
    public var debugDescription: String { jsonString }
}

// MARK: Access

extension GeneratedContent {
    /// The value converted to a type.
    public func value<Value: ConvertibleFromGeneratedContent>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(self)
    }

    /// - Throws: `ParsingError` if there is no such property or its value has another type.
    public func value<Value: ConvertibleFromGeneratedContent>(
        _ type: Value.Type = Value.self, forProperty property: String
    ) throws -> Value {
        guard let content = try properties[property] else {
            throw failure("expected a property '\(property)'")
        }
        return try Value(content)
    }

    /// - Returns: `nil` if there is no such property, if it is `null`, or if too little of it has been generated.
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

    /// The value, one of `names`. `@Generable` uses it for enumerations without associated values.
    public func choice(_ names: [String]) throws -> String {
        guard isComplete, case .string(let name) = kind, names.contains(name) else {
            throw failure("expected one of \(names.joined(separator: ", "))")
        }
        return name
    }

    /// The object's only property, whose name must be one of `names`. For code that `@Generable` generates for
    /// enumerations with associated values.
    public func choice(of names: [String]) throws -> (name: String, values: GeneratedContent) {
        guard isComplete, case .structure(let properties, let keys) = kind, keys.count == 1, names.contains(keys[0]),
            let values = properties[keys[0]]
        else { throw failure("expected an object with one of the properties \(names.joined(separator: ", "))") }
        return (keys[0], values)
    }

    /// The error for a name in the schema that no case matches. For code that `@Generable` generates.
    public func unknownChoice(_ name: String) -> any Error { failure("expected a case, not '\(name)'") }

    /// A decoding error that names the expected and the found value.
    func failure(_ expected: String) -> ParsingError {
        let json = jsonString
        return ParsingError(
            rawContent: json, debugDescription: "Generated content: \(expected), found \(json.prefix(200))")
    }
}

/// Detects `nil` behind an existential.
private protocol OptionalContent {
    var isNil: Bool { get }
}

extension Optional: OptionalContent {
    fileprivate var isNil: Bool { self == nil }
}
