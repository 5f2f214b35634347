public import Foundation

/// What values of a type look like; the model is held to it while it generates them.
public struct GenerationSchema: Sendable {
    let root: SchemaNode
    /// The type whose schema it is: where the schema refers to it, it refers to itself.
    let type: (any Generable.Type)?
    /// The name of the root.
    let name: String?
    /// What `.reference` refers to, by name.
    let definitions: [String: SchemaNode]

    init(
        _ root: SchemaNode, type: (any Generable.Type)? = nil, name: String? = nil,
        definitions: [String: SchemaNode] = [:]
    ) {
        self.root = root
        self.type = type
        self.name = name ?? type.map { String(describing: $0) }
        self.definitions = definitions
    }

    /// A structure.
    ///
    /// - Parameter properties: In the order in which they are generated.
    public init(type: any Generable.Type, description: String? = nil, properties: [Property]) {
        self.init(.object(description: description, properties.map(\.node)), type: type)
    }

    /// One of some texts.
    public init(type: any Generable.Type, description: String? = nil, anyOf choices: [String]) {
        self.init(.choices(description: description, choices), type: type)
    }

    /// A value of one of some types.
    public init(type: any Generable.Type, description: String? = nil, anyOf types: [any Generable.Type]) {
        self.init(.anyOf(description: description, types.map { .type($0) }), type: type)
    }

    /// An enumeration with associated values: an object with one property, the case's name, whose value is an object with the
    /// associated values.
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

        public init<Value: Generable>(
            name: String, description: String? = nil, type: Value.Type, guides: [GenerationGuide<Value>] = []
        ) {
            self.init(name, description, isOptional: false, type, guides.flatMap(\.limits))
        }

        /// One that may be left out.
        public init<Value: Generable>(
            name: String, description: String? = nil, type: Value?.Type, guides: [GenerationGuide<Value>] = []
        ) {
            self.init(name, description, isOptional: true, Value.self, guides.flatMap(\.limits))
        }

        /// A text that matches regular expressions as a whole.
        public init<RegexOutput>(
            name: String, description: String? = nil, type: String.Type, guides: [Regex<RegexOutput>]
        ) {
            self.init(name, description, isOptional: false, type, guides.map { .pattern($0.patternText) })
        }

        /// A text that matches regular expressions as a whole, and may be left out.
        public init<RegexOutput>(
            name: String, description: String? = nil, type: String?.Type, guides: [Regex<RegexOutput>]
        ) {
            self.init(name, description, isOptional: true, String.self, guides.map { .pattern($0.patternText) })
        }

        private init(
            _ name: String, _ description: String?, isOptional: Bool, _ type: any Generable.Type,
            _ limits: [SchemaNode.Limit]
        ) {
            // A guide is for a type whose schema is shallow; others are looked up when the schema is written.
            let value = limits.isEmpty ? SchemaNode.type(type) : SchemaNode.type(type).limited(limits)
            node = .init(name: name, description: description, isOptional: isOptional, value: value)
        }
    }
}

extension GenerationSchema {
    /// Why a schema that the app put together cannot be used.
    public enum SchemaError: Error, LocalizedError {
        public struct Context: Sendable {
            public let debugDescription: String
            public init(debugDescription: String) { self.debugDescription = debugDescription }
        }

        /// Two schemas have the same name.
        case duplicateType(schema: String?, type: String, context: Context)
        /// Two properties of an object have the same name.
        case duplicateProperty(schema: String, property: String, context: Context)
        /// There is nothing to choose from.
        case emptyTypeChoices(schema: String, context: Context)
        /// Schemas are referred to that are not there.
        case undefinedReferences(schema: String?, references: [String], context: Context)

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
    public var debugDescription: String { (try? jsonSchema) ?? "GenerationSchema(\(name ?? "any"))" }
}
