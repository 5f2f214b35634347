/// Python's text form of values.
enum PythonText {
    static func bool(_ value: Bool) -> String { value ? "True" : "False" }

    /// `repr(float)`: the shortest digits that read back as the same number, with an exponent from 1e16 and below 1e-4.
    static func float(_ value: Double) -> String {
        if value.isNaN { return "nan" }
        if value.isInfinite { return value < 0 ? "-inf" : "inf" }
        let (digits, exponent) = shortestDigits(value.magnitude)
        let sign = value.sign == .minus ? "-" : ""
        if exponent >= 16 || exponent < -4 {
            let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
            let power = exponent.magnitude < 10 ? "0\(exponent.magnitude)" : "\(exponent.magnitude)"
            return "\(sign)\(digits.prefix(1))\(fraction)e\(exponent < 0 ? "-" : "+")\(power)"
        }
        if exponent < 0 { return sign + "0." + String(repeating: "0", count: -exponent - 1) + digits }
        let whole = digits.prefix(exponent + 1)
        let padding = String(repeating: "0", count: exponent + 1 - whole.count)
        let fraction = digits.dropFirst(exponent + 1)
        return "\(sign)\(whole)\(padding).\(fraction.isEmpty ? "0" : fraction)"
    }

    /// Digits and exponent of d.ddd · 10^exponent, from Swift's shortest description.
    private static func shortestDigits(_ value: Double) -> (digits: String, exponent: Int) {
        if value == 0 { return ("0", 0) }
        let parts = value.description.split(separator: "e")
        let written = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let fraction = mantissa.count > 1 ? mantissa[1] : ""
        let all = mantissa[0] + fraction
        let leading = all.prefix { $0 == "0" }.count
        var digits = String(all.dropFirst(leading))
        while digits.count > 1, digits.hasSuffix("0") { digits.removeLast() }
        return (digits, written + mantissa[0].count - 1 - leading)
    }

    /// `repr(str)`: single quotes, unless the text contains only those; unprintable characters are escaped.
    static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let quote: Unicode.Scalar = scalars.contains("'") && !scalars.contains("\"") ? "\"" : "'"
        var result = String(quote).unicodeScalars
        for scalar in scalars {
            switch scalar {
            case "\\", quote:
                result.append("\\")
                result.append(scalar)
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\r": result.append(contentsOf: "\\r".unicodeScalars)
            case "\t": result.append(contentsOf: "\\t".unicodeScalars)
            default:
                if isPrintable(scalar) {
                    result.append(scalar)
                } else {
                    result.append(contentsOf: escape(scalar).unicodeScalars)
                }
            }
        }
        result.append(quote)
        return String(result)
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar.value {
        case ..<0x100: "\\x" + hex(scalar.value, 2)
        case ..<0x10000: "\\u" + hex(scalar.value, 4)
        default: "\\U" + hex(scalar.value, 8)
        }
    }

    static func hex(_ value: UInt32, _ width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value >= 0x20 }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
            .spaceSeparator:
            return false
        default: return true
        }
    }
}

extension Renderer {
    /// Python's `str(value)`.
    func string(_ value: Value) throws(TemplateError) -> String {
        switch value {
        case .string(let text), .markup(let text): text
        case .undefined: ""
        default: try repr(value)
        }
    }

    /// Python's `repr(value)`.
    func repr(_ value: Value) throws(TemplateError) -> String {
        try charge()
        switch value {
        case .undefined: return "Undefined"
        case .null: return "None"
        case .bool(let bool): return PythonText.bool(bool)
        case .int(let int): return String(int)
        case .double(let double): return PythonText.float(double)
        case .string(let text): return try quoted(text)
        case .markup(let text): return "Markup(\(try quoted(text)))"
        case .list(let items): return "[\(try reprs(items.values))]"
        case .tuple(let items): return "(\(try reprs(items.values))\(items.values.count == 1 ? "," : ""))"
        case .dict(let dict):
            var parts: [String] = []
            for (key, value) in dict.entries {
                parts.append(try nested { () throws(TemplateError) in "\(try repr(key)): \(try repr(value))" })
            }
            return "{\(try checked(parts.joined(separator: ", ")))}"
        case .object(let object):
            return try nested { () throws(TemplateError) in try object.description(self) }
        }
    }

    private func reprs(_ values: [Value]) throws(TemplateError) -> String {
        var parts: [String] = []
        for value in values { parts.append(try nested { () throws(TemplateError) in try repr(value) }) }
        return try checked(parts.joined(separator: ", "))
    }

    private func quoted(_ text: String) throws(TemplateError) -> String {
        // Up to ten bytes per scalar, processed one by one.
        try charge(text.utf8.count)
        return PythonText.quoted(text)
    }
}
