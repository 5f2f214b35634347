public import Template

/// A JSON Schema, reduced to the types that arguments may have; for dialects that write bare text.
public struct ArgumentSchema: Sendable {
    enum Kind: String, Sendable, CaseIterable { case string, number, integer, boolean, null, object, array }

    private let schema: TemplateValue
    private let root: TemplateValue

    /// A schema without requirements.
    public init() { self.init(.undefined) }

    public init(_ schema: TemplateValue) {
        self.schema = schema
        root = schema
    }

    private init(_ schema: TemplateValue, root: TemplateValue) {
        self.schema = schema
        self.root = root
    }

    private var object: TemplateObject? {
        guard case .object(let object) = schema else { return nil }
        return object
    }

    /// The schema of property `key`, from whichever part of the schema declares it.
    func property(_ key: String) -> ArgumentSchema {
        for part in parts {
            guard let object = part.object else { continue }
            if case .object(let properties) = object["properties"], let property = properties[key] {
                return .init(property, root: root)
            }
        }
        if let additional = object?["additionalProperties"], case .object = additional {
            return .init(additional, root: root)
        }
        return .init(.undefined, root: root)
    }

    /// The schema of an array's items.
    var items: ArgumentSchema {
        for part in parts {
            if let items = part.object?["items"] { return .init(items, root: root) }
        }
        return .init(.undefined, root: root)
    }

    /// Types that the value may have; `nil` if the schema does not say.
    var kinds: Set<Kind>? {
        var found: Set<Kind> = []
        let parts = parts
        guard parts.count < Self.maximumParts else { return nil }
        for part in parts {
            guard let object = part.object else { return nil }
            guard let kinds = Self.declared(object) else {
                // A part that only lists alternatives is described by them.
                if object["anyOf"] != nil || object["oneOf"] != nil || object["allOf"] != nil || object["$ref"] != nil {
                    continue
                }
                return nil
            }
            found.formUnion(kinds)
        }
        return found.isEmpty ? nil : found
    }

    private static func declared(_ object: TemplateObject) -> Set<Kind>? {
        switch object["type"] {
        case .string(let type): return Kind(rawValue: type).map { [$0] }
        case .array(let types):
            return Set(
                types.compactMap { type in
                    guard case .string(let type) = type else { return nil }
                    return Kind(rawValue: type)
                })
        default: break
        }
        var values: [TemplateValue] = []
        if case .array(let choices) = object["enum"] { values = choices }
        if let constant = object["const"] { values.append(constant) }
        guard values.isEmpty else { return Set(values.map(kind)) }
        if object["properties"] != nil { return [.object] }
        return object["items"] != nil ? [.array] : nil
    }

    private static func kind(_ value: TemplateValue) -> Kind {
        switch value {
        case .string: .string
        case .int: .integer
        case .double: .number
        case .bool: .boolean
        case .array: .array
        case .object: .object
        case .none, .undefined: .null
        }
    }

    /// Maximum parts to consider. Alternatives that refer to one another would multiply without end.
    private static let maximumParts = 256
    /// Maximum bytes of a reference, which is split each time it is followed.
    private static let longestReference = 1024

    /// The schema, its references and its alternatives.
    private var parts: [ArgumentSchema] {
        var parts: [ArgumentSchema] = []
        addParts(to: &parts, depth: 0)
        return parts
    }

    private func addParts(to parts: inout [ArgumentSchema], depth: Int) {
        parts.append(self)
        guard depth < 8, let object else { return }
        var inner: [TemplateValue] = []
        for key in ["anyOf", "oneOf", "allOf"] {
            if case .array(let alternatives) = object[key] { inner += alternatives.prefix(64) }
        }
        if case .string(let reference) = object["$ref"], let target = resolve(reference) { inner.append(target) }
        for part in inner {
            guard parts.count < Self.maximumParts else { return }
            ArgumentSchema(part, root: root).addParts(to: &parts, depth: depth + 1)
        }
    }

    private func resolve(_ reference: String) -> TemplateValue? {
        guard reference.hasPrefix("#"), reference.utf8.count <= Self.longestReference else { return nil }
        var value = root
        for part in reference.dropFirst().split(separator: "/") {
            let key = String(part).replacing("~1", with: "/").replacing("~0", with: "~")
            guard case .object(let object) = value, let next = object[key] else { return nil }
            value = next
        }
        return value
    }

    /// Whether a value must be a string, so that its text can be passed on before it is complete.
    var isString: Bool { kinds == [.string] }

    /// The JSON of a value that the model wrote as bare text.
    func json(of text: [UInt8]) -> [UInt8] {
        let kinds = kinds
        if kinds == [.string] { return jsonString(text) }
        let trimmed = trim(text)
        let literal: [UInt8] =
            switch String(decoding: trimmed, as: UTF8.self) {
            case "True": Array("true".utf8)
            case "False": Array("false".utf8)
            case "None": Array("null".utf8)
            default: Array(trimmed)
            }
        guard JSONScanner.isValue(literal), let first = literal.first else {
            // Some templates print lists and objects in Python's notation.
            if let kinds, !kinds.contains(.string), let value = Notation.json(ofPython: trimmed) { return value }
            return jsonString(text)
        }
        let written: Set<Kind> =
            switch first {
            case UInt8(ascii: "{"): [.object]
            case UInt8(ascii: "["): [.array]
            case UInt8(ascii: "\""): [.string]
            case UInt8(ascii: "t"), UInt8(ascii: "f"): [.boolean]
            case UInt8(ascii: "n"): [.null]
            default: [.number, .integer]
            }
        // If strings are allowed, quotes are part of the text; other JSON counts as such only if its type is allowed.
        if let kinds, kinds.contains(.string), first == UInt8(ascii: "\"") || kinds.isDisjoint(with: written) {
            return jsonString(text)
        }
        return literal
    }
}

func trim(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    var slice = bytes[...]
    while let first = slice.first, isSpace(first) { slice.removeFirst() }
    while let last = slice.last, isSpace(last) { slice.removeLast() }
    return slice
}
