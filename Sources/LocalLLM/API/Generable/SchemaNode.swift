/// What a generated value looks like.
indirect enum SchemaNode: Sendable {
    case any
    case boolean
    case integer([Limit])
    /// - upTo: The largest magnitude that the type holds.
    case number(upTo: Double, [Limit])
    case string([Limit])
    case array(of: SchemaNode, [Limit])
    /// An object with these properties and no others.
    case object(description: String?, [Property])
    case choices(description: String?, [String])
    case anyOf(description: String?, [SchemaNode])
    /// The schema of another type. It is looked up when the schema is written, so that types may contain themselves.
    case type(any Generable.Type)
    /// A schema that the app made, by its name.
    case reference(String)
    /// A schema that was written elsewhere.
    case json(OrderedJSON)
    /// No value.
    case nothing

    struct Property: Sendable {
        var name: String
        var description: String?
        var isOptional: Bool
        var value: SchemaNode
    }

    /// What a `GenerationGuide` says.
    indirect enum Limit: Sendable {
        case choices([String])
        /// `nil` for a regular expression that cannot be written as text.
        case pattern(String?)
        case minimum(OrderedJSON), maximum(OrderedJSON)
        case minimumCount(Int), maximumCount(Int)
        case element(Limit)
    }

    /// The node with more limits; a type that the limits do not fit keeps them out by its guides' types.
    func limited(_ limits: [Limit]) -> SchemaNode {
        guard !limits.isEmpty else { return self }
        switch self {
        case .integer(let own): return .integer(own + limits)
        case .number(let largest, let own): return .number(upTo: largest, own + limits)
        case .string(let own): return .string(own + limits)
        case .array(let element, let own): return .array(of: element, own + limits)
        case .type(let type): return type.generationSchema.root.limited(limits)
        case .any, .boolean, .object, .choices, .anyOf, .reference, .json, .nothing: return self
        }
    }

    /// Whether the node is written once, under a name, and referred to from elsewhere.
    var isNamed: Bool {
        switch self {
        case .object, .choices, .anyOf: true
        default: false
        }
    }
}
