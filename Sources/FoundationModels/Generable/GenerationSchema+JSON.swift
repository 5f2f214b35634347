import Foundation
import JSON

extension GenerationSchema {
    /// Parses JSON Schema text. The keywords are checked when the schema is used. Properties are generated in the order of the
    /// text, or in that of `x-order` beside them, which Apple's framework and its program `fm` write.
    ///
    /// - Throws: `GeneratedContent.ParsingError` for text that is not JSON.
    public init(jsonSchema: String) throws {
        let content = try GeneratedContent(json: jsonSchema)
        guard content.isComplete else {
            throw content.failure("expected JSON Schema, found the beginning of some JSON")
        }
        self.init(.json(content.json.propertiesByOrder))
    }

    /// The schema as JSON Schema (draft 2020-12), properties in order, named types in `$defs`.
    ///
    /// - Throws: `LanguageModelError.unsupportedGenerationGuide` for a regular expression without source text.
    public var jsonSchema: String {
        get throws { try json.text }
    }

    /// `jsonSchema` with numbers bounded by the ranges of their types, so that every matching value can be decoded.
    var enforcedSchema: String {
        get throws {
            var writer = SchemaWriter(self, bindsNumbers: true)
            return try writer.write().text
        }
    }

    var json: JSON {
        get throws {
            var writer = SchemaWriter(self, bindsNumbers: false)
            return try writer.write()
        }
    }
}

/// Writes a schema, and each schema that it refers to once.
private struct SchemaWriter {
    private typealias Members = [JSON.Object.Member]

    private let schema: GenerationSchema
    /// Whether to write the ranges of numeric types.
    private let bindsNumbers: Bool
    /// Names of the types in `$defs`.
    private var names: [ObjectIdentifier: String] = [:]
    private var taken: Set<String> = []
    private var written: Members = []
    private var waiting: [(name: String, node: SchemaNode)] = []

    /// Name in `$defs` of the schema for any value; no Swift type can have this name.
    private static let anyValue = "any value"

    init(_ schema: GenerationSchema, bindsNumbers: Bool) {
        self.schema = schema
        self.bindsNumbers = bindsNumbers
    }

    mutating func write() throws -> JSON {
        for name in schema.definitions.keys.sorted() {
            taken.insert(name)
            waiting.append((name, schema.definitions[name]!))
        }
        let root = try json(schema.root)
        while let next = waiting.first {
            waiting.removeFirst()
            written.append((next.name, try json(next.node)))
        }
        guard case .object(let object) = root else { return root }
        var members = object.members
        if let name = schema.title, schema.root.isNamed { members.insert(("title", .string(name)), at: 0) }
        if taken.contains(Self.anyValue) { written.append((Self.anyValue, anyValue)) }
        if !written.isEmpty { members.append(("$defs", .ordered(written))) }
        return .ordered(members)
    }

    private mutating func json(_ node: SchemaNode) throws -> JSON {
        switch node {
        case .any:
            guard bindsNumbers else { return .ordered([]) }
            taken.insert(Self.anyValue)
            return Self.reference(Self.anyValue)
        case .json(let json): return json
        case .nothing: return .ordered([("not", .ordered([]))])
        case .null: return .ordered([("type", .string("null"))])
        case .boolean: return .ordered([("type", .string("boolean"))])
        case .integer(let limits):
            // Integers that a double represents exactly, since JSON readers use doubles.
            let largest = (1 << 53) - 1
            return .ordered(
                [("type", .string("integer"))] + (try members(limits, within: JSON(-largest), JSON(largest))))
        case .number(let largest, let limits):
            return .ordered(
                [("type", .string("number"))] + (try members(limits, within: JSON(-largest), JSON(largest))))
        case .string(let limits): return .ordered([("type", .string("string"))] + (try members(limits)))
        case .array(let element, let limits):
            let inner = limits.compactMap { if case .element(let limit) = $0 { limit } else { nil } }
            let items = try json(element.limited(inner))
            return .ordered([("type", .string("array")), ("items", items)] + (try members(limits)))
        case .object(let description, let properties):
            let members = try properties.map { property -> JSON.Object.Member in
                let value = try json(property.value)
                return (
                    name: property.name,
                    value: described(property.isNullable ? value.orNull : value, property.description)
                )
            }
            let required = properties.filter { !$0.isOptional }.map { JSON.string($0.name) }
            return described(
                .ordered([
                    ("type", .string("object")), ("properties", .ordered(members)), ("required", .array(required)),
                    ("additionalProperties", .bool(false)),
                ]), description)
        case .dictionary(let value):
            return .ordered([("type", .string("object")), ("additionalProperties", try json(value))])
        case .choices(let description, let choices):
            return described(
                .ordered([("type", .string("string")), ("enum", .array(choices.map { .string($0) }))]), description)
        case .anyOf(let description, let nodes):
            return described(.ordered([("anyOf", .array(try nodes.map { try json($0) }))]), description)
        case .reference(let name): return name == schema.title ? Self.root : Self.reference(name)
        case .type(let type): return try json(type)
        }
    }

    private mutating func json(_ type: any Generable.Type) throws -> JSON {
        if let own = schema.type, own == type { return Self.root }
        if let name = names[ObjectIdentifier(type)] { return Self.reference(name) }
        let other = type.generationSchema
        guard other.root.isNamed else { return try json(other.root) }
        var name = String(describing: type)
        while !taken.insert(name).inserted { name += "_" }
        names[ObjectIdentifier(type)] = name
        waiting.append((name, other.root))
        return Self.reference(name)
    }

    /// The keywords of a node's limits. Several limits of one kind all apply.
    private func members(
        _ limits: [SchemaNode.Limit], within lowest: JSON? = nil, _ highest: JSON? = nil
    ) throws -> Members {
        var (choices, patterns): ([String]?, [JSON]) = (nil, [])
        var (minimum, maximum) = bindsNumbers ? (lowest, highest) : (nil, nil)
        var (minimumCount, maximumCount): (Int?, Int?) = (nil, nil)
        for limit in limits {
            switch limit {
            case .choices(let texts): choices = choices?.filter(texts.contains) ?? texts
            case .pattern(let pattern):
                guard let pattern else { throw Self.unwritable }
                patterns.append(.string("^(?:\(pattern))$"))
            case .minimum(let value): minimum = JSON.tighter(minimum, value, >)
            case .maximum(let value): maximum = JSON.tighter(maximum, value, <)
            case .minimumCount(let count): minimumCount = max(count, minimumCount ?? count)
            case .maximumCount(let count): maximumCount = min(count, maximumCount ?? count)
            case .element: break
            }
        }
        var members: Members = []
        if let choices { members.append(("enum", .array(choices.map { .string($0) }))) }
        if let pattern = patterns.first { members.append(("pattern", pattern)) }
        if patterns.count > 1 {
            members.append(("allOf", .array(patterns.dropFirst().map { .ordered([("pattern", $0)]) })))
        }
        if let minimum { members.append(("minimum", minimum)) }
        if let maximum { members.append(("maximum", maximum)) }
        if let minimumCount { members.append(("minItems", JSON(minimumCount))) }
        if let maximumCount { members.append(("maxItems", JSON(maximumCount))) }
        return members
    }

    private static var unwritable: LanguageModelError {
        .unsupportedGenerationGuide(
            .init(
                schemaName: nil,
                debugDescription: """
                    A guide's regular expression must be a literal or made from a string; one of a builder cannot be \
                    written down.
                    """))
    }

    private func described(_ json: JSON, _ description: String?) -> JSON {
        guard let description, case .object(let members) = json else { return json }
        return .ordered([("description", .string(description))] + members.members.filter { $0.name != "description" })
    }

    /// Any JSON, with numbers in the range of doubles.
    private var anyValue: JSON {
        let inner = Self.reference(Self.anyValue)
        return .ordered([
            ("minimum", JSON(-1e308)), ("maximum", JSON(1e308)), ("items", inner),
            ("additionalProperties", inner),
        ])
    }

    private static let root = JSON.ordered([("$ref", .string("#"))])

    /// A name in `$defs`, as a JSON pointer (RFC 6901) in the fragment of a URI.
    private static func reference(_ name: String) -> JSON {
        let pointer = name.replacing("~", with: "~0").replacing("/", with: "~1")
        let fragment = pointer.addingPercentEncoding(withAllowedCharacters: .urlFragmentAllowed) ?? pointer
        return .ordered([("$ref", .string("#/$defs/\(fragment)"))])
    }
}

extension JSON {
    /// A schema that also matches `null`.
    fileprivate var orNull: JSON { .ordered([("anyOf", .array([self, .ordered([("type", .string("null"))])]))]) }

    /// An object, of members with distinct names.
    static func ordered(_ members: [JSON.Object.Member]) -> JSON { .object(JSON.Object(members)) }

    /// The stricter of two bounds; infinite bounds, which are null in JSON, are ignored.
    fileprivate static func tighter(_ one: JSON?, _ other: JSON, _ isTighter: (Double, Double) -> Bool) -> JSON? {
        guard let value = other.double else { return one }
        guard let one, let known = one.double else { return other }
        return isTighter(known, value) ? one : other
    }
}

extension JSON {
    /// A schema whose `properties` stand in the order that `x-order` beside them lists. Those that it does not list follow.
    var propertiesByOrder: JSON {
        switch self {
        case .array(let elements): return .array(elements.map(\.propertiesByOrder))
        case .object(let object):
            var schema = JSON.Object(object.members.map { (name: $0.name, value: $0.value.propertiesByOrder) })
            guard case .array(let names) = schema["x-order"], case .object(let properties) = schema["properties"] else {
                return .object(schema)
            }
            var ordered = JSON.Object()
            for case .string(let name) in names {
                if let value = properties[name] { ordered[name] = value }
            }
            for (name, value) in properties.members { ordered[name] = value }
            schema["properties"] = .object(ordered)
            schema["x-order"] = nil
            return .object(schema)
        case .null, .bool, .number, .string: return self
        }
    }
}
