import Constraint
import Dialects
import Template

/// The arguments of a tool's calls, constrained to its schema, in a dialect's notation.
struct ArgumentShape {
    typealias Shape = ConstraintGraph.Shape

    private let tool: CallableTool
    private let syntax: CallSyntax
    private let gap: Shape
    private let compile: AnswerShape.Compile
    private let schema: ToolSchema

    init(_ tool: CallableTool, _ syntax: CallSyntax, _ gap: Shape, _ compile: @escaping AnswerShape.Compile) {
        self.tool = tool
        self.syntax = syntax
        self.gap = gap
        self.compile = compile
        schema = ToolSchema(tool.parameters, isStrict: tool.isStrict, compile)
    }

    /// What `shape` does not enforce.
    var unenforced: [ToolSchemaError] { schema.unenforced.map { ToolSchemaError(tool: tool.name, reason: $0) } }

    func shape() throws -> Shape {
        do {
            if let input = tool.input { return try shape(of: input) }
            switch syntax.body {
            case .object, .header(_, .json): return .object(try schema.constraint(schema.ofWhole))
            case .pythonic:
                let properties = try schema.properties()
                return .sequence([
                    list(try properties.map { ($0, try pythonic($0)) }, gap), .literal(")"),
                ])
            case .header(_, .quoted(let quote)): return try QuotedShape(quote, gap, schema).object(schema.root)
            case .header(_, .tagged(let tags)):
                return .sequence(
                    try schema.properties().flatMap { property -> [Shape] in
                        let tag = try tagged(property, tags)
                        return [gap, property.isRequired ? tag : .optional(tag)]
                    })
            }
        } catch let error as ConstraintError {
            throw ToolSchemaError(tool: tool.name, reason: error.description)
        } catch let error as ToolSchema.Unknown {
            throw ToolSchemaError(tool: tool.name, reason: error.reason)
        }
    }

    /// A single argument: text of a regular expression or grammar.
    private func shape(of input: CallableTool.InputFormat) throws -> Shape {
        func source(_ notation: Constraint.TextNotation) -> Constraint.Source {
            switch (input.syntax, notation) {
            case (.lark, _): .lark(input.definition, in: notation)
            case (.regex, .plain): .regex(input.definition)
            case (.regex, .jsonString): .jsonSchema(input.schema.json)
            case (.regex, .jsonMember(let name)):
                .jsonSchema(
                    ToolSchema.whole(
                        .object([
                            "properties": .object([name: input.schema]), "required": .array([.string(name)]),
                        ])))
            }
        }
        let plain = Shape.constraint(try compile(source(.plain)))
        switch syntax.body {
        case .object, .header(_, .json): return .object(try compile(source(.jsonMember(input.argument))))
        case .pythonic:
            return .sequence([
                .literal(input.argument + "="), .constraint(try compile(source(.jsonString))), .literal(")"),
            ])
        case .header(_, .quoted(let quote)):
            return .sequence([.literal("{\(input.argument):\(quote)"), plain, .literal("\(quote)}")])
        case .header(_, .tagged(let tags)):
            let close = tags.valueClose + (tags.afterClosingKey.map { input.argument + $0 } ?? "")
            return .sequence([
                gap, .literal(tags.keyOpen + input.argument + tags.afterKey + tags.beforeValue), plain,
                .literal(tags.afterValue + close),
            ])
        }
    }

    /// `key=value` with the value as JSON, which is valid Python except for three words.
    private func pythonic(_ property: ToolSchema.Property) throws -> Shape {
        .sequence([.literal(property.name + "="), .constraint(try schema.constraint(of: property.schema))])
    }

    private func tagged(_ property: ToolSchema.Property, _ tags: ArgumentTags) throws -> Shape {
        let close = tags.valueClose + (tags.afterClosingKey.map { property.name + $0 } ?? "")
        let head = tags.keyOpen + property.name
        if try schema.mayBeString(property.schema) {
            let open = Shape.literal(head + tags.afterKey + tags.beforeValue)
            guard let values = schema.strings(property.schema) else { return .sequence([open, .until(close)]) }
            return .sequence([open, .anyOf(values.map { .literal($0 + tags.afterValue + close) })])
        }
        let value = Shape.constraint(try schema.constraint(of: property.schema))
        return .sequence([
            .literal(head + (tags.afterKeyOfJSON.first ?? tags.afterKey) + tags.beforeValue), value,
            .literal(tags.afterValue + close),
        ])
    }
}

extension CallableTool.InputFormat {
    /// The schema of texts that match a regular expression.
    fileprivate var schema: TemplateValue {
        .object(["type": .string("string"), "pattern": .string("^(?:\(definition))$")])
    }
}

/// Members in order, with commas between those that are present.
///
/// Any member may be the first, so the shape grows with the square of their number (`ToolSchema.maximumProperties`).
func list(
    _ members: [(ToolSchema.Property, ConstraintGraph.Shape)], _ gap: ConstraintGraph.Shape
) -> ConstraintGraph.Shape {
    let comma: [ConstraintGraph.Shape] = [.literal(","), gap]
    /// The members from an index on, after at least one other.
    var following: [ConstraintGraph.Shape] = []
    var result = ConstraintGraph.Shape.nothing
    for (property, shape) in members.reversed() {
        let next = ConstraintGraph.Shape.sequence([shape] + following)
        result = property.isRequired ? next : .anyOf([next, result])
        let follows = ConstraintGraph.Shape.sequence(comma + [shape])
        following.insert(property.isRequired ? follows : .optional(follows), at: 0)
    }
    return result
}

/// The schema of a tool's arguments, split into properties for notations other than JSON.
struct ToolSchema {
    struct Property {
        var name: String
        var schema: TemplateValue
        var isRequired: Bool
    }

    /// A schema that only JSON arguments can be constrained to.
    struct Unknown: Error { let reason: String }

    /// State of the expansion of one schema.
    private final class Expansion {
        /// Remaining properties. Definitions count each time they are used, which can be exponentially often.
        var properties = 10_000
        /// Remaining subschemas of alternatives.
        var alternatives = 10_000
        /// Remaining bytes of schema documents.
        var bytes = 32 << 20
        /// Keywords that are not enforced, with path and reason.
        var unenforced: [String] = []
    }

    /// Maximum properties of one object.
    static let maximumProperties = 500
    /// Maximum bytes of a reference, which is split each time it is followed.
    private static let longestReference = 1024

    let root: TemplateValue
    private let isStrict: Bool
    private let compile: AnswerShape.Compile
    private let expansion = Expansion()
    private static let definitions = ["$defs", "definitions"]
    /// Keywords on several properties at once, which only JSON arguments can be constrained to.
    private static let onSeveral = [
        "allOf", "anyOf", "oneOf", "not", "if", "minProperties", "patternProperties", "dependentRequired",
    ]

    init(_ root: TemplateValue, isStrict: Bool, _ compile: @escaping AnswerShape.Compile) {
        self.root = root
        self.isStrict = isStrict
        self.compile = compile
    }

    /// What the shapes made so far do not enforce.
    var unenforced: [String] { expansion.unenforced }

    private func note(_ reason: String) {
        guard expansion.unenforced.count < 16, !expansion.unenforced.contains(reason) else { return }
        expansion.unenforced.append(reason)
    }

    /// The constraint of a schema document.
    func constraint(_ document: String) throws -> Constraint {
        let constraint = try compile(.jsonSchema(document, .init(dropsUnenforceable: !isStrict)))
        constraint.unenforced.forEach(note)
        return constraint
    }

    /// The constraint of a subschema.
    func constraint(of part: TemplateValue) throws -> Constraint { try constraint(try document(part)) }

    /// The whole schema as JSON.
    var ofWhole: String { Self.whole(root) }

    /// A tool's schema as JSON. Undeclared properties are forbidden unless the schema mentions them: they are hardly
    /// ever intended, and small models invent them endlessly.
    static func whole(_ root: TemplateValue) -> String {
        guard case .object(var object) = root else { return root.json }
        let says = [
            "additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf",
        ]
        if case .object = object["properties"] ?? .object([:]), says.allSatisfy({ object[$0] == nil }) {
            object["additionalProperties"] = .bool(false)
        }
        if object["type"] == nil { object["type"] = .string("object") }
        return TemplateValue.object(object).json
    }

    /// A subschema as a document of its own, with all definitions.
    func document(_ part: TemplateValue) throws -> String {
        guard case .object(var object) = part, case .object(let root) = self.root else { return part.json }
        for key in Self.definitions where object[key] == nil { object[key] = root[key] }
        guard expansion.bytes >= 0 else {
            throw Unknown(reason: "its definitions are too large to repeat for each property")
        }
        let text = TemplateValue.object(object).json
        expansion.bytes -= text.utf8.count
        return text
    }

    func properties() throws -> [Property] { try properties(of: root) }

    /// The declared properties. Without `strict` those of alternatives are among them, with the union of their schemas.
    func properties(of schema: TemplateValue, depth: Int = 0) throws -> [Property] {
        guard case .object(let object) = resolved(schema) else { return [] }
        var result = try ownProperties(object)
        for key in Self.onSeveral where object[key] != nil {
            let reason = "#/\(key): cannot be enforced in this model's form of tool calls"
            guard !isStrict, depth < 16 else { throw Unknown(reason: reason) }
            note(reason)
            var places = Dictionary(result.enumerated().map { ($1.name, $0) }) { first, _ in first }
            for part in Self.alternatives(key, object) {
                for property in try properties(of: part, depth: depth + 1) {
                    guard let place = places[property.name] else {
                        places[property.name] = result.count
                        result.append(property)
                        if key != "allOf" { result[result.count - 1].isRequired = false }
                        continue
                    }
                    if result[place].schema != property.schema {
                        result[place].schema = .object(["anyOf": .array([result[place].schema, property.schema])])
                    }
                }
            }
        }
        guard result.count <= Self.maximumProperties else { throw Self.tooManyProperties }
        return result
    }

    private static func alternatives(_ keyword: String, _ object: TemplateObject) -> [TemplateValue] {
        switch keyword {
        case "allOf", "anyOf", "oneOf": if case .array(let parts)? = object[keyword] { parts } else { [] }
        case "if": ["if", "then", "else"].compactMap { object[$0] }
        default: []
        }
    }

    private static let tooManyProperties = Unknown(
        reason: "more properties than this model's form of tool calls can be held to")

    private func ownProperties(_ object: TemplateObject) throws -> [Property] {
        guard case .object(let properties) = object["properties"] ?? .undefined else { return [] }
        expansion.properties -= properties.entries.count
        guard properties.entries.count <= Self.maximumProperties, expansion.properties >= 0 else {
            throw Self.tooManyProperties
        }
        var required: Set<String> = []
        if case .array(let names) = object["required"] ?? .undefined {
            for case .string(let name) in names { required.insert(name) }
        }
        return properties.entries.map {
            Property(name: $0.key, schema: $0.value, isRequired: required.contains($0.key))
        }
    }

    /// Whether a value may be a string.
    func mayBeString(_ schema: TemplateValue, depth: Int = 0) throws -> Bool {
        expansion.alternatives -= 1
        guard expansion.alternatives >= 0 else {
            throw Unknown(reason: "more alternatives than this model's form of tool calls can be held to")
        }
        guard depth < 16, case .object(let object) = resolved(schema) else { return true }
        switch object["type"] {
        case .string(let type)?: return type == "string"
        case .array(let types)?: return types.contains(.string("string"))
        default: break
        }
        if let values = values(object) {
            return values.contains { if case .string = $0 { true } else { false } }
        }
        for key in ["anyOf", "oneOf"] {
            if case .array(let parts)? = object[key] {
                return try parts.contains { try mayBeString($0, depth: depth + 1) }
            }
        }
        if case .array(let parts)? = object["allOf"] {
            return try parts.allSatisfy { try mayBeString($0, depth: depth + 1) }
        }
        return true
    }

    /// The allowed strings, if the schema is a list of strings only.
    func strings(_ schema: TemplateValue) -> [String]? {
        guard case .object(let object) = resolved(schema), let values = values(object) else { return nil }
        let strings = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
        return strings.count == values.count ? strings : nil
    }

    private func values(_ object: TemplateObject) -> [TemplateValue]? {
        if case .array(let values)? = object["enum"] { return values }
        return object["const"].map { [$0] }
    }

    /// The target of a reference within the document.
    func resolved(_ schema: TemplateValue) -> TemplateValue {
        var schema = schema
        for _ in 0..<16 {
            guard case .object(let object) = schema, case .string(let reference)? = object["$ref"],
                reference.hasPrefix("#/"), reference.utf8.count <= Self.longestReference
            else { return schema }
            var target = root
            for name in reference.dropFirst(2).split(separator: "/") {
                guard case .object(let members) = target, let next = members[String(name)] else { return schema }
                target = next
            }
            schema = target
        }
        return schema
    }
}

/// Objects with bare keys, and strings between delimiters: `{key:<|"|>text<|"|>}`.
private struct QuotedShape {
    typealias Shape = ConstraintGraph.Shape

    private let quote: String
    private let gap: Shape
    private let schema: ToolSchema

    init(_ quote: String, _ gap: Shape, _ schema: ToolSchema) {
        self.quote = quote
        self.gap = gap
        self.schema = schema
    }

    func object(_ part: TemplateValue, depth: Int = 0) throws -> Shape {
        let members = try schema.properties(of: part).map { property in
            (property, Shape.sequence([.literal(property.name + ":"), try value(property.schema, depth: depth + 1)]))
        }
        return .sequence([.literal("{"), list(members, gap), .literal("}")])
    }

    private func value(_ part: TemplateValue, depth: Int) throws -> Shape {
        guard depth < 16 else { throw ToolSchema.Unknown(reason: "nested more than 16 deep") }
        if try schema.mayBeString(part) {
            guard let values = schema.strings(part) else { return .sequence([.literal(quote), .until(quote)]) }
            return .anyOf(values.map { .literal(quote + $0 + quote) })
        }
        if case .object(let object) = schema.resolved(part) {
            if object["type"] == .string("object") { return try self.object(part, depth: depth) }
            if object["type"] == .string("array") {
                let item = try value(object["items"] ?? .undefined, depth: depth + 1)
                let more = Shape.optional(.repeated(.sequence([.literal(","), gap, item])))
                return .sequence([.literal("["), .optional(.sequence([item, more])), .literal("]")])
            }
        }
        return .constraint(try schema.constraint(of: part))
    }
}
