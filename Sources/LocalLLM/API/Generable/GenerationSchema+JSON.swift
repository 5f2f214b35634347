import Foundation
import Tokenizer

extension GenerationSchema {
    /// The schema as JSON Schema (draft 2020-12), properties in order; named types stand in `$defs`.
    ///
    /// - Throws: `GenerationError.unsupportedGuide` for a regular expression that is not text.
    public var jsonSchema: String {
        get throws { try json.text }
    }

    var json: OrderedJSON {
        get throws {
            var writer = SchemaWriter(self)
            return try writer.write()
        }
    }
}

/// Writes a schema, and once each schema that it refers to.
private struct SchemaWriter {
    private let schema: GenerationSchema
    /// The name of each type that stands in `$defs`.
    private var names: [ObjectIdentifier: String] = [:]
    private var taken: Set<String> = []
    private var written: [(key: String, value: OrderedJSON)] = []
    private var waiting: [(name: String, node: SchemaNode)] = []

    init(_ schema: GenerationSchema) { self.schema = schema }

    mutating func write() throws -> OrderedJSON {
        for name in schema.definitions.keys.sorted() {
            taken.insert(name)
            waiting.append((name, schema.definitions[name]!))
        }
        var root = try json(schema.root)
        while let next = waiting.first {
            waiting.removeFirst()
            written.append((next.name, try json(next.node)))
        }
        guard case .object(var members) = root else { return root }
        if let name = schema.name, schema.root.isNamed { members.insert(("title", .string(name)), at: 0) }
        if !written.isEmpty { members.append(("$defs", .object(written))) }
        root = .object(members)
        return root
    }

    private mutating func json(_ node: SchemaNode) throws -> OrderedJSON {
        switch node {
        case .any: return .object([])
        case .json(let json): return json
        case .nothing: return .object([("not", .object([]))])
        case .boolean: return .object([("type", .string("boolean"))])
        case .integer(let limits): return .object([("type", .string("integer"))] + (try members(limits)))
        case .number(let limits): return .object([("type", .string("number"))] + (try members(limits)))
        case .string(let limits): return .object([("type", .string("string"))] + (try members(limits)))
        case .array(let element, let limits):
            let inner = limits.compactMap { if case .element(let limit) = $0 { limit } else { nil } }
            let items = try json(element.limited(inner))
            return .object([("type", .string("array")), ("items", items)] + (try members(limits)))
        case .object(let description, let properties):
            let members = try properties.map { property in
                (key: property.name, value: described(try json(property.value), property.description))
            }
            let required = properties.filter { !$0.isOptional }.map { OrderedJSON.string($0.name) }
            return described(
                .object([
                    ("type", .string("object")), ("properties", .object(members)), ("required", .array(required)),
                    ("additionalProperties", .bool(false)),
                ]), description)
        case .choices(let description, let choices):
            return described(
                .object([("type", .string("string")), ("enum", .array(choices.map { .string($0) }))]), description)
        case .anyOf(let description, let nodes):
            return described(.object([("anyOf", .array(try nodes.map { try json($0) }))]), description)
        case .reference(let name):
            return .object([("$ref", .string(name == schema.name ? "#" : "#/$defs/\(Self.escaped(name))"))])
        case .type(let type): return try json(type)
        }
    }

    private mutating func json(_ type: any Generable.Type) throws -> OrderedJSON {
        if let own = schema.type, own == type { return .object([("$ref", .string("#"))]) }
        if let name = names[ObjectIdentifier(type)] {
            return .object([("$ref", .string("#/$defs/\(Self.escaped(name))"))])
        }
        let other = type.generationSchema
        guard other.root.isNamed else { return try json(other.root) }
        var name = String(describing: type)
        while !taken.insert(name).inserted { name += "_" }
        names[ObjectIdentifier(type)] = name
        waiting.append((name, other.root))
        return .object([("$ref", .string("#/$defs/\(Self.escaped(name))"))])
    }

    private func members(_ limits: [SchemaNode.Limit]) throws -> [(key: String, value: OrderedJSON)] {
        try limits.compactMap { limit in
            switch limit {
            case .choices(let choices): return ("enum", .array(choices.map { .string($0) }))
            case .pattern(let pattern):
                guard let pattern else {
                    throw LanguageModelSession.GenerationError.unsupportedGuide(
                        .init(
                            debugDescription:
                                "A guide's regular expression must be a literal or made from a string; one of a builder cannot be written down."
                        ))
                }
                return ("pattern", .string("^(?:\(pattern))$"))
            case .minimum(let value): return ("minimum", value)
            case .maximum(let value): return ("maximum", value)
            case .minimumCount(let count): return ("minItems", .int(count))
            case .maximumCount(let count): return ("maxItems", .int(count))
            case .element: return nil
            }
        }
    }

    private func described(_ json: OrderedJSON, _ description: String?) -> OrderedJSON {
        guard let description, case .object(let members) = json else { return json }
        return .object([("description", .string(description))] + members)
    }

    /// A name in a JSON pointer (RFC 6901).
    private static func escaped(_ name: String) -> String {
        name.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}
