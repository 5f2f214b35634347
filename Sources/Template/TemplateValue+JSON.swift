public import JSON

extension TemplateValue {
    /// Maximum nesting of arrays and objects in JSON for templates.
    public static let maximumJSONDepth = 100

    /// Parses JSON, keeping the order of keys and distinguishing `1` from `1.0`. Of duplicate keys the last value
    /// counts.
    ///
    /// Integers beyond 64 bits become doubles; a number beyond the range of doubles becomes infinite, as in Python.
    ///
    /// - Throws: `JSON.SyntaxError` for invalid JSON, and for nesting beyond ``maximumJSONDepth``.
    public init(json: some Sequence<UInt8>) throws(JSON.SyntaxError) {
        self.init(
            converting: try JSON(parsing: Array(json), JSON.Limits(depth: Self.maximumJSONDepth)))
    }

    /// - Returns: `nil` for nesting beyond ``maximumJSONDepth``.
    public init?(_ json: JSON) {
        guard Self.fits(json, depth: Self.maximumJSONDepth) else { return nil }
        self.init(converting: json)
    }

    private static func fits(_ json: JSON, depth: Int) -> Bool {
        switch json {
        case .array(let elements): depth > 0 && elements.allSatisfy { fits($0, depth: depth - 1) }
        case .object(let object): depth > 0 && object.members.allSatisfy { fits($0.value, depth: depth - 1) }
        case .null, .bool, .number, .string: true
        }
    }

    private init(converting json: JSON) {
        switch json {
        case .null: self = .none
        case .bool(let value): self = .bool(value)
        case .number(let number):
            if number.isWrittenAsInteger, let value = number.int {
                self = .int(value)
            } else {
                self = .double(number.double)
            }
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { TemplateValue(converting: $0) })
        case .object(let object):
            self = .object(
                TemplateObject(object.members.map { (key: $0.name, value: TemplateValue(converting: $0.value)) }))
        }
    }
}

extension TemplateValue {
    /// The value as JSON text, with Python's separators `, ` and `: `. What JSON does not have is null.
    public var json: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += ", " }
                value.write(to: &text)
            }
            text += "]"
        case .object(let object):
            text += "{"
            for (index, member) in object.entries.enumerated() {
                if index > 0 { text += ", " }
                text += JSON.string(member.key).text
                text += ": "
                member.value.write(to: &text)
            }
            text += "}"
        // As Python writes it: `1.0` stays so.
        case .double(let value) where value.isFinite: text += "\(value)"
        default: text += JSON(self).text
        }
    }
}

extension JSON {
    /// A value without a type of JSON becomes null.
    public init(_ value: TemplateValue) {
        switch value {
        case .undefined, .none: self = .null
        case .bool(let value): self = .bool(value)
        case .int(let value): self.init(value)
        case .double(let value): self.init(value)
        case .string(let value): self = .string(value)
        case .array(let values): self = .array(values.map { JSON($0) })
        case .object(let object):
            self = .object(JSON.Object(object.entries.map { (name: $0.key, value: JSON($0.value)) }))
        }
    }
}
