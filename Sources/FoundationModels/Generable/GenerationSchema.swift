public import Foundation

/// The JSON schema of a type's values; generation is constrained to it.
public struct GenerationSchema: Sendable {
    let root: SchemaNode
    /// The type that the schema describes: references to this type become references to the root.
    let type: (any Generable.Type)?
    /// Name of the root, if it has one.
    let title: String?
    /// Targets of `.reference`, by name.
    let definitions: [String: SchemaNode]

    init(
        _ root: SchemaNode, type: (any Generable.Type)? = nil, name: String? = nil,
        definitions: [String: SchemaNode] = [:]
    ) {
        self.root = root
        self.type = type
        title = name ?? type.map { String(describing: $0) }
        self.definitions = definitions
    }

    /// The name of the type, or of the root of a schema built at run time.
    public var name: String { title ?? "GeneratedContent" }

    /// A structure.
    ///
    /// - Parameter properties: In the order in which they are generated.
    public init(type: any Generable.Type, description: String? = nil, properties: [Property]) {
        self.init(
            type: type, description: description, representNilExplicitlyInGeneratedContent: false,
            properties: properties)
    }

    /// A structure.
    ///
    /// - Parameters:
    ///   - explicitNil: Whether an optional property without a value is `null`, instead of missing.
    ///   - properties: In the order in which they are generated.
    public init(
        type: any Generable.Type, description: String? = nil,
        representNilExplicitlyInGeneratedContent explicitNil: Bool, properties: [Property]
    ) {
        self.init(
            .object(description: description, properties.map { $0.node.writingNil(explicitNil) }), type: type)
    }

    /// The same schema under a name that is not its type's. For code that `@Generable` generates.
    public func named(_ name: String) -> GenerationSchema {
        GenerationSchema(root, type: type, name: name, definitions: definitions)
    }

    /// One of several strings.
    public init(type: any Generable.Type, description: String? = nil, anyOf choices: [String]) {
        self.init(.choices(description: description, choices), type: type)
    }

    /// A value of one of several types.
    public init(type: any Generable.Type, description: String? = nil, anyOf types: [any Generable.Type]) {
        self.init(.anyOf(description: description, types.map { .type($0) }), type: type)
    }

    /// An enumeration with associated values: an object with one property, which is named like the case; its value is
    /// an object with the associated values.
    public init(
        type: any Generable.Type, description: String? = nil, cases: [(name: String, properties: [Property])]
    ) {
        let objects = cases.map { item in
            let values = SchemaNode.object(description: nil, item.properties.map(\.node))
            return SchemaNode.object(
                description: nil, [.init(name: item.name, description: nil, isOptional: false, value: values)])
        }
        self.init(.anyOf(description: description, objects), type: type)
    }

    /// A property of a structure.
    public struct Property: Sendable {
        let node: SchemaNode.Property

        /// A property that every value has. The description is for the model to read; all guides must hold.
        public init<Value: Generable>(
            name: String, description: String? = nil, type: Value.Type, guides: [GenerationGuide<Value>] = []
        ) {
            self.init(name, description, isOptional: false, type, guides.flatMap(\.limits))
        }

        /// An optional property.
        public init<Value: Generable>(
            name: String, description: String? = nil, type: Value?.Type, guides: [GenerationGuide<Value>] = []
        ) {
            self.init(name, description, isOptional: true, Value.self, guides.flatMap(\.limits))
        }

        /// A string that matches regular expressions entirely.
        public init<RegexOutput>(
            name: String, description: String? = nil, type: String.Type, guides: [Regex<RegexOutput>]
        ) {
            self.init(name, description, isOptional: false, type, guides.map { .pattern($0.patternText) })
        }

        /// An optional string that matches regular expressions entirely.
        public init<RegexOutput>(
            name: String, description: String? = nil, type: String?.Type, guides: [Regex<RegexOutput>]
        ) {
            self.init(name, description, isOptional: true, String.self, guides.map { .pattern($0.patternText) })
        }

        private init(
            _ name: String, _ description: String?, isOptional: Bool, _ type: any Generable.Type,
            _ limits: [SchemaNode.Limit]
        ) {
            // Types with guides have flat schemas; references are resolved when the schema is written.
            let value = limits.isEmpty ? SchemaNode.type(type) : SchemaNode.type(type).limited(limits)
            node = .init(name: name, description: description, isOptional: isOptional, value: value)
        }
    }
}

extension GenerationSchema {
    /// Why a schema built at run time is invalid.
    public enum SchemaError: Error, LocalizedError {
        /// The explanation of an error.
        public struct Context: Sendable {
            public let debugDescription: String
            /// For tests of an app's handling of the error.
            public init(debugDescription: String) { self.debugDescription = debugDescription }
        }

        /// Two schemas have the same name.
        case duplicateType(schema: String?, type: String, context: Context)
        /// Two properties of an object have the same name.
        case duplicateProperty(schema: String, property: String, context: Context)
        /// A choice has no alternatives.
        case emptyTypeChoices(schema: String, context: Context)
        /// References to schemas that are not defined.
        case undefinedReferences(schema: String?, references: [String], context: Context)

        public var recoverySuggestion: String? {
            switch self {
            case .duplicateType, .duplicateProperty: "Give each a name of its own."
            case .emptyTypeChoices: "Add at least one choice."
            case .undefinedReferences: "Pass the schemas that are referred to as dependencies."
            }
        }

        public var errorDescription: String? {
            switch self {
            case .duplicateType(_, _, let context), .duplicateProperty(_, _, let context),
                .emptyTypeChoices(_, let context), .undefinedReferences(_, _, let context):
                context.debugDescription
            }
        }
    }
}

extension GenerationSchema: CustomDebugStringConvertible {
    public var debugDescription: String { (try? jsonSchema) ?? "GenerationSchema(\(name))" }
}
