import JSON

/// A node of a schema.
indirect enum SchemaNode: Sendable {
    case any
    case null
    case boolean
    case integer([Limit])
    /// - upTo: The largest magnitude that the type holds.
    case number(upTo: Double, [Limit])
    case string([Limit])
    case array(of: SchemaNode, [Limit])
    /// An object with these properties and no others.
    case object(description: String?, [Property])
    /// An object with any names, whose values match the node.
    case dictionary(of: SchemaNode)
    case choices(description: String?, [String])
    case anyOf(description: String?, [SchemaNode])
    /// The schema of another type. It is resolved when the schema is written, so that types may be recursive.
    case type(any Generable.Type)
    /// A schema built at run time, by its name.
    case reference(String)
    /// A schema given as JSON.
    case json(JSON)
    /// The schema that no value matches.
    case nothing

    struct Property: Sendable {
        var name: String
        var description: String?
        var isOptional: Bool
        /// Whether a property without a value is `null`, instead of missing.
        var isNullable = false
        var value: SchemaNode

        /// An optional property is `null` if it has no value, and present.
        func writingNil(_ isExplicit: Bool) -> Self {
            var property = self
            if isExplicit, isOptional { (property.isOptional, property.isNullable) = (false, true) }
            return property
        }
    }

    /// A limit of a `GenerationGuide`.
    indirect enum Limit: Sendable {
        case choices([String])
        /// `nil` for a regular expression that cannot be written as text.
        case pattern(String?)
        case minimum(JSON), maximum(JSON)
        case minimumCount(Int), maximumCount(Int)
        case element(Limit)
    }

    /// The node with limits added. Limits always fit the node: `GenerationGuide` is generic over the property's type.
    func limited(_ limits: [Limit]) -> SchemaNode {
        guard !limits.isEmpty else { return self }
        switch self {
        case .integer(let own): return .integer(own + limits)
        case .number(let largest, let own): return .number(upTo: largest, own + limits)
        case .string(let own): return .string(own + limits)
        case .array(let element, let own): return .array(of: element, own + limits)
        case .type(let type): return type.generationSchema.root.limited(limits)
        case .any, .null, .boolean, .object, .dictionary, .choices, .anyOf, .reference, .json, .nothing: return self
        }
    }

    /// Whether the node is written once in `$defs` and referenced by name.
    var isNamed: Bool {
        switch self {
        case .object, .choices, .anyOf: true
        default: false
        }
    }
}
