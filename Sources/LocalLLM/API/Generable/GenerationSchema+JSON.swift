import Foundation

extension GenerationSchema {
    /// Parses JSON Schema text. The keywords are checked when the schema is used.
    ///
    /// - Throws: `GenerationError.decodingFailure` for text that is not JSON.
    public init(jsonSchema: String) throws {
        let content = try GeneratedContent(json: jsonSchema)
        guard content.isComplete else {
            throw content.failure("expected JSON Schema, found the beginning of some JSON")
        }
        self.init(.json(OrderedJSON(content)))
    }

    /// The schema as JSON Schema (draft 2020-12), properties in order, named types in `$defs`.
    ///
    /// - Throws: `GenerationError.unsupportedGuide` for a regular expression without source text.
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

    var json: OrderedJSON {
        get throws {
            var writer = SchemaWriter(self, bindsNumbers: false)
            return try writer.write()
        }
    }
}

/// Writes a schema, and each schema that it refers to once.
private struct SchemaWriter {
    private typealias Members = [(key: String, value: OrderedJSON)]

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

    mutating func write() throws -> OrderedJSON {
        for name in schema.definitions.keys.sorted() {
            taken.insert(name)
            waiting.append((name, schema.definitions[name]!))
        }
        let root = try json(schema.root)
        while let next = waiting.first {
            waiting.removeFirst()
            written.append((next.name, try json(next.node)))
        }
        guard case .object(var members) = root else { return root }
        if let name = schema.name, schema.root.isNamed { members.insert(("title", .string(name)), at: 0) }
        if taken.contains(Self.anyValue) { written.append((Self.anyValue, anyValue)) }
        if !written.isEmpty { members.append(("$defs", .object(written))) }
        return .object(members)
    }

    private mutating func json(_ node: SchemaNode) throws -> OrderedJSON {
        switch node {
        case .any:
            guard bindsNumbers else { return .object([]) }
            taken.insert(Self.anyValue)
            return Self.reference(Self.anyValue)
        case .json(let json): return json
        case .nothing: return .object([("not", .object([]))])
        case .boolean: return .object([("type", .string("boolean"))])
        case .integer(let limits):
            // Integers that a double represents exactly, since JSON readers use doubles.
            let largest = (1 << 53) - 1
            return .object(
                [("type", .string("integer"))] + (try members(limits, within: .int(-largest), .int(largest))))
        case .number(let largest, let limits):
            return .object(
                [("type", .string("number"))] + (try members(limits, within: .double(-largest), .double(largest))))
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
        case .reference(let name): return name == schema.name ? Self.root : Self.reference(name)
        case .type(let type): return try json(type)
        }
    }

    private mutating func json(_ type: any Generable.Type) throws -> OrderedJSON {
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
        _ limits: [SchemaNode.Limit], within lowest: OrderedJSON? = nil, _ highest: OrderedJSON? = nil
    ) throws -> Members {
        var (choices, patterns): ([String]?, [OrderedJSON]) = (nil, [])
        var (minimum, maximum) = bindsNumbers ? (lowest, highest) : (nil, nil)
        var (minimumCount, maximumCount): (Int?, Int?) = (nil, nil)
        for limit in limits {
            switch limit {
            case .choices(let texts): choices = choices?.filter(texts.contains) ?? texts
            case .pattern(let pattern):
                guard let pattern else { throw Self.unwritable }
                patterns.append(.string("^(?:\(pattern))$"))
            case .minimum(let value): minimum = OrderedJSON.tighter(minimum, value, >)
            case .maximum(let value): maximum = OrderedJSON.tighter(maximum, value, <)
            case .minimumCount(let count): minimumCount = max(count, minimumCount ?? count)
            case .maximumCount(let count): maximumCount = min(count, maximumCount ?? count)
            case .element: break
            }
        }
        var members: Members = []
        if let choices { members.append(("enum", .array(choices.map { .string($0) }))) }
        if let pattern = patterns.first { members.append(("pattern", pattern)) }
        if patterns.count > 1 {
            members.append(("allOf", .array(patterns.dropFirst().map { .object([("pattern", $0)]) })))
        }
        if let minimum { members.append(("minimum", minimum)) }
        if let maximum { members.append(("maximum", maximum)) }
        if let minimumCount { members.append(("minItems", .int(minimumCount))) }
        if let maximumCount { members.append(("maxItems", .int(maximumCount))) }
        return members
    }

    private static var unwritable: LanguageModelSession.GenerationError {
        .unsupportedGuide(
            .init(
                debugDescription: """
                    A guide's regular expression must be a literal or made from a string; one of a builder cannot be \
                    written down.
                    """))
    }

    private func described(_ json: OrderedJSON, _ description: String?) -> OrderedJSON {
        guard let description, case .object(let members) = json else { return json }
        return .object([("description", .string(description))] + members.filter { $0.key != "description" })
    }

    /// Any JSON, with numbers in the range of doubles.
    private var anyValue: OrderedJSON {
        let inner = Self.reference(Self.anyValue)
        return .object([
            ("minimum", .double(-1e308)), ("maximum", .double(1e308)), ("items", inner),
            ("additionalProperties", inner),
        ])
    }

    private static let root = OrderedJSON.object([("$ref", .string("#"))])

    /// A name in `$defs`, as a JSON pointer (RFC 6901) in the fragment of a URI.
    private static func reference(_ name: String) -> OrderedJSON {
        let pointer = name.replacing("~", with: "~0").replacing("/", with: "~1")
        let fragment = pointer.addingPercentEncoding(withAllowedCharacters: .urlFragmentAllowed) ?? pointer
        return .object([("$ref", .string("#/$defs/\(fragment)"))])
    }
}

extension OrderedJSON {
    fileprivate init(_ content: GeneratedContent) {
        switch content.kind {
        case .null: self = .null
        case .bool(let bool): self = .bool(bool)
        case .number(let number): self = Int(exactly: number).map { .int($0) } ?? .double(number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { OrderedJSON($0) })
        case .structure(let properties, let keys):
            self = .object(keys.compactMap { key in properties[key].map { (key, OrderedJSON($0)) } })
        @unknown default: self = .null
        }
    }

    /// The stricter of two bounds; infinite bounds are ignored.
    fileprivate static func tighter(
        _ one: OrderedJSON?, _ other: OrderedJSON, _ isTighter: (Double, Double) -> Bool
    ) -> OrderedJSON? {
        guard let value = other.number, !value.isInfinite else { return one }
        guard let one, let known = one.number else { return other }
        return isTighter(known, value) ? one : other
    }

    private var number: Double? {
        switch self {
        case .int(let int): Double(int)
        case .double(let double): double
        default: nil
        }
    }
}
