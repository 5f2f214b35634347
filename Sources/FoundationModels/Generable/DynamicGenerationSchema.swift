/// A schema built at run time.
public struct DynamicGenerationSchema: Sendable {
    let name: String?
    let node: SchemaNode

    private init(name: String?, node: SchemaNode) {
        self.name = name
        self.node = node
    }

    /// Only `null`.
    public static var null: DynamicGenerationSchema { .init(name: nil, node: .null) }

    /// An object.
    public init(name: String, description: String? = nil, properties: [Property]) {
        self.init(
            name: name, description: description, representNilExplicitlyInGeneratedContent: false,
            properties: properties)
    }

    /// An object.
    ///
    /// - Parameter explicitNil: Whether an optional property without a value is `null`, instead of missing.
    public init(
        name: String, description: String? = nil, representNilExplicitlyInGeneratedContent explicitNil: Bool,
        properties: [Property]
    ) {
        self.init(
            name: name, node: .object(description: description, properties.map { $0.node.writingNil(explicitNil) }))
    }

    /// A value that matches one of several schemas.
    public init(name: String, description: String? = nil, anyOf choices: [DynamicGenerationSchema]) {
        self.init(name: name, node: .anyOf(description: description, choices.map(\.inner)))
    }

    /// One of several strings.
    public init(name: String, description: String? = nil, anyOf choices: [String]) {
        self.init(name: name, node: .choices(description: description, choices))
    }

    /// A list.
    public init(arrayOf itemSchema: DynamicGenerationSchema, minimumElements: Int? = nil, maximumElements: Int? = nil) {
        let limits = [
            minimumElements.map { SchemaNode.Limit.minimumCount($0) },
            maximumElements.map { SchemaNode.Limit.maximumCount($0) },
        ]
        self.init(name: nil, node: .array(of: itemSchema.inner, limits.compactMap(\.self)))
    }

    /// Values of a Swift type.
    public init<Value: Generable>(type: Value.Type, guides: [GenerationGuide<Value>] = []) {
        self.init(name: nil, node: SchemaNode.type(type).limited(guides.flatMap(\.limits)))
    }

    /// The schema of this name among the `dependencies` of `GenerationSchema(root:dependencies:)`.
    public init(referenceTo name: String) { self.init(name: nil, node: .reference(name)) }

    /// A property of an object.
    public struct Property: Sendable {
        let node: SchemaNode.Property
        let schema: DynamicGenerationSchema

        /// The description is for the model to read. An optional property may be left out of the object.
        public init(
            name: String, description: String? = nil, schema: DynamicGenerationSchema, isOptional: Bool = false
        ) {
            node = .init(name: name, description: description, isOptional: isOptional, value: schema.inner)
            self.schema = schema
        }
    }

    /// The node to use where this schema is nested in another: nested schemas are inlined.
    fileprivate var inner: SchemaNode { node }
}

extension GenerationSchema {
    /// A schema built at run time.
    ///
    /// - Parameter dependencies: Schemas that the root, or other dependencies, refer to by name.
    /// - Throws: `SchemaError`.
    public init(root: DynamicGenerationSchema, dependencies: [DynamicGenerationSchema] = []) throws {
        var definitions: [String: SchemaNode] = [:]
        for schema in dependencies {
            guard let name = schema.name else { continue }
            guard definitions.updateValue(schema.node, forKey: name) == nil, name != root.name else {
                throw SchemaError.duplicateType(
                    schema: root.name, type: name, context: .init(debugDescription: "Two schemas are called '\(name)'.")
                )
            }
        }
        for (name, node) in [(root.name, root.node)] + definitions.map({ ($0.key, $0.value) }) {
            try Self.check(node, in: name ?? "")
        }
        let known = Set(definitions.keys).union([root.name].compactMap(\.self))
        let references = ([root.node] + definitions.values).flatMap(\.references)
        let undefined = Set(references).subtracting(known).sorted()
        guard undefined.isEmpty else {
            throw SchemaError.undefinedReferences(
                schema: root.name, references: undefined,
                context: .init(debugDescription: "No schema is called \(undefined.joined(separator: ", ")).")
            )
        }
        self.init(root.node, name: root.name, definitions: definitions)
    }

    private static func check(_ node: SchemaNode, in name: String) throws {
        switch node {
        case .object(_, let properties):
            var names: Set<String> = []
            for property in properties {
                guard names.insert(property.name).inserted else {
                    throw SchemaError.duplicateProperty(
                        schema: name, property: property.name,
                        context: .init(debugDescription: "'\(name)' has two properties '\(property.name)'."))
                }
                try check(property.value, in: name)
            }
        case .choices(_, let choices) where choices.isEmpty: throw emptyChoices(name)
        case .anyOf(_, let nodes):
            if nodes.isEmpty { throw emptyChoices(name) }
            for node in nodes { try check(node, in: name) }
        case .array(let element, _): try check(element, in: name)
        default: break
        }
    }

    private static func emptyChoices(_ name: String) -> SchemaError {
        .emptyTypeChoices(schema: name, context: .init(debugDescription: "'\(name)' has nothing to choose from."))
    }
}

extension SchemaNode {
    /// Names of the schemas that it refers to.
    fileprivate var references: [String] {
        switch self {
        case .reference(let name): [name]
        case .object(_, let properties): properties.flatMap(\.value.references)
        case .anyOf(_, let nodes): nodes.flatMap(\.references)
        case .array(let element, _): element.references
        default: []
        }
    }
}
