/// `json.dumps`, for the filter `tojson`.
///
/// Foundation's encoder cannot produce this text: Python writes `", "` and `": "` between items, formats floats its own
/// way, keeps the order of keys, and templates choose indentation and separators. Models were trained on exactly this
/// text.
struct JSONText {
    var escapesNonASCII = false
    var indentation: String?
    var itemSeparator = ", "
    var keySeparator = ": "
    var sortsKeys = false
    private var bytes: [UInt8] = []

    init() {}

    mutating func dump(_ value: Value, _ renderer: Renderer) throws(TemplateError) -> String {
        try append(value, level: 0, renderer)
        return try renderer.checked(String(decoding: bytes, as: UTF8.self))
    }

    private mutating func append(_ value: Value, level: Int, _ renderer: Renderer) throws(TemplateError) {
        try renderer.charge()
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let bool): bytes += (bool ? "true" : "false").utf8
        case .int(let int): bytes += String(int).utf8
        case .double(let double): bytes += number(double).utf8
        case .string(let text), .markup(let text): try append(quoted: text, renderer)
        case .list(let items), .tuple(let items):
            try append(items.values, "[", "]", level, renderer) { (json, item) throws(TemplateError) in
                try json.append(item, level: level + 1, renderer)
            }
        case .object(let object as Group):
            try append(.tuple(Items([object.grouper, object.list])), level: level, renderer)
        case .dict(let dict):
            let entries = try sortsKeys ? sorted(dict, renderer) : Array(dict.entries)
            try append(entries, "{", "}", level, renderer) { (json, entry) throws(TemplateError) in
                try json.append(quoted: try json.key(entry.0, renderer), renderer)
                json.bytes += json.keySeparator.utf8
                try json.append(entry.1, level: level + 1, renderer)
            }
        case .undefined, .object: throw renderer.fail("Object of type \(value.typeName) is not JSON serializable")
        }
    }

    private mutating func append<Element>(
        _ elements: [Element], _ open: String, _ close: String, _ level: Int, _ renderer: Renderer,
        _ body: (inout JSONText, Element) throws(TemplateError) -> Void
    ) throws(TemplateError) {
        bytes += open.utf8
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes += itemSeparator.utf8 }
            try breakLine(level + 1, renderer)
            try renderer.enter()
            defer { renderer.leave() }
            try body(&self, element)
        }
        if !elements.isEmpty { try breakLine(level, renderer) }
        bytes += close.utf8
    }

    private mutating func breakLine(_ level: Int, _ renderer: Renderer) throws(TemplateError) {
        guard let indentation else { return }
        bytes.append(UInt8(ascii: "\n"))
        let (size, overflow) = indentation.utf8.count.multipliedReportingOverflow(by: level)
        guard !overflow, bytes.count + min(size, Int.max / 2) <= renderer.limits.outputBytes else {
            throw renderer.fail("the indented JSON is too long", .limit)
        }
        try renderer.charge(bytes: size)
        for _ in 0..<level { bytes += indentation.utf8 }
    }

    private func number(_ double: Double) -> String {
        if double.isNaN { return "NaN" }
        if double.isInfinite { return double < 0 ? "-Infinity" : "Infinity" }
        return PythonText.float(double)
    }

    private func key(_ value: Value, _ renderer: Renderer) throws(TemplateError) -> String {
        switch value {
        case .string(let text), .markup(let text): return text
        case .bool(let bool): return bool ? "true" : "false"
        case .null: return "null"
        case .int(let int): return String(int)
        case .double(let double): return number(double)
        default: throw renderer.fail("keys must be str, int, float, bool or None, not \(value.typeName)")
        }
    }

    private func sorted(_ dict: Dict, _ renderer: Renderer) throws(TemplateError) -> [(Value, Value)] {
        guard
            case .list(let items) = try renderer.apply(
                .dictsort, to: .dict(dict), Arguments(positional: [.bool(true)]))
        else { return [] }
        return items.values.compactMap { pair in
            if case .tuple(let pair) = pair { (pair.values[0], pair.values[1]) } else { nil }
        }
    }

    private mutating func append(quoted text: String, _ renderer: Renderer) throws(TemplateError) {
        try renderer.charge(bytes: text.utf8.count)
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\r": bytes += "\\r".utf8
            case "\t": bytes += "\\t".utf8
            case "\u{08}": bytes += "\\b".utf8
            case "\u{0C}": bytes += "\\f".utf8
            default:
                if scalar.value < 0x20 || (escapesNonASCII && scalar.value > 0x7E) {
                    // Python does not escape DEL.
                    if scalar.value == 0x7F { bytes.append(0x7F) } else { appendEscape(scalar) }
                } else if scalar.isASCII {
                    bytes.append(UInt8(scalar.value))  // below 0x80
                } else {
                    bytes += UTF8.encode(scalar) ?? UTF8.EncodedScalar()
                }
            }
        }
        bytes.append(UInt8(ascii: "\""))
        guard bytes.count <= renderer.limits.outputBytes else { throw renderer.fail("the JSON is too long", .limit) }
    }

    private mutating func appendEscape(_ scalar: Unicode.Scalar) {
        for unit in UTF16.encode(scalar) ?? UTF16.EncodedScalar() {
            bytes += "\\u".utf8
            bytes += PythonText.hex(UInt32(unit), 4).utf8
        }
    }
}

extension Renderer {
    private func indentation(_ indent: Value) throws(TemplateError) -> String {
        if let text = indent.text { return text }
        return try repeated(" ", max(0, try integer(indent, "indent")))
    }

    /// - Parameter arguments: `ensure_ascii`, `indent`, `separators`, `sort_keys`.
    func json(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> String {
        var json = JSONText()
        json.escapesNonASCII = arguments[0]?.isTruthy ?? false
        json.sortsKeys = arguments[3]?.isTruthy ?? false
        if let indent = arguments[1].given {
            json.indentation = try indentation(indent)
            json.itemSeparator = ","
        }
        if let separators = arguments[2].given {
            let parts = try iterate(separators)
            guard parts.count == 2 else { throw fail("separators must be a pair") }
            json.itemSeparator = try string(parts[0], "item separator")
            json.keySeparator = try string(parts[1], "key separator")
            guard json.itemSeparator.utf8.count + json.keySeparator.utf8.count <= 1000 else {
                throw fail("the separators are too long", .limit)
            }
        }
        return try json.dump(value, self)
    }
}
