import Foundation

extension Renderer {
    func numberFilter(_ filter: JinjaFilter, _ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        // Numbers are parsed character by character.
        if let text = value.text { try charge(text.utf8.count) }
        switch filter {
        case .abs: return try absolute(value)
        case .int: return try toInt(value, arguments)
        case .float: return try toFloat(value) ?? arguments[0] ?? .double(0)
        case .round: return try round(value, arguments)
        case .filesizeformat: return .string(try fileSize(value, binary: arguments[0]?.isTruthy ?? false))
        default: return try sum(value, arguments)
        }
    }

    private func absolute(_ value: Value) throws(TemplateError) -> Value {
        if case .double(let double) = value { return .double(Swift.abs(double)) }
        if case .undefined(let undefined) = value { throw fail(undefined) }
        guard let int = value.integer else { throw fail("bad operand type for abs(): '\(value.typeName)'") }
        return int < 0 ? try negate(.int(int)) : .int(int)
    }

    private func toInt(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let base = try integer(arguments[1] ?? .int(10), "base")
        let fallback = arguments[0] ?? .int(0)
        if let int = value.integer { return .int(int) }
        if case .undefined(let undefined) = value { throw fail(undefined) }
        if case .double(let double) = value {
            return double.isFinite ? .int(try truncated(double)) : fallback
        }
        guard let text = value.text else { return fallback }
        if let int = NumberText.int(text, base: base) { return .int(int) }
        guard let double = NumberText.float(text), double.isFinite else { return fallback }
        return .int(try truncated(double))
    }

    private func toFloat(_ value: Value) throws(TemplateError) -> Value? {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        return (value.number ?? value.text.flatMap(NumberText.float)).map { .double($0) }
    }

    private func round(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        let precision = try integer(arguments[0] ?? .int(0), "precision")
        let method = try string(arguments[1] ?? .string("common"), "method")
        guard let number = value.number else {
            throw fail("type \(value.typeName) doesn't define __round__ method")
        }
        switch method {
        case "common":
            if let int = value.integer {
                if precision >= 0 { return .int(int) }
                return .int(try truncated(PythonNumber.rounded(number, precision)))
            }
            return .double(PythonNumber.rounded(number, precision))
        case "ceil", "floor":
            let factor = pow(10.0, Double(precision))
            let scaled = number * factor
            let whole = method == "ceil" ? scaled.rounded(.up) : scaled.rounded(.down)
            guard whole.isFinite, factor != 0 else { throw fail("cannot convert the number to an integer") }
            return .double(whole / factor)
        default: throw fail("method must be common, ceil or floor")
        }
    }

    private func fileSize(_ value: Value, binary: Bool) throws(TemplateError) -> String {
        guard case .double(let bytes)? = try toFloat(value) else { throw fail("could not convert to a size") }
        let base = binary ? 1024.0 : 1000.0
        if bytes == 1 { return "1 Byte" }
        if bytes < base { return "\(try truncated(bytes)) Bytes" }
        let prefixes = ["k", "M", "G", "T", "P", "E", "Z", "Y"]
        var unit = base
        for (index, prefix) in prefixes.enumerated() {
            unit *= base
            guard bytes < unit || index == prefixes.count - 1 else { continue }
            let name = binary ? prefix.uppercased() + "iB" : prefix + "B"
            return "\(PythonNumber.fixed(base * bytes / unit, 1)) \(name)"
        }
        return ""
    }

    private func sum(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        var items = try iterate(value)
        if let attribute = arguments[0].given {
            let path = try AttributePath(attribute, self)
            items = try items.map { (item) throws(TemplateError) in try path.get(item, missing: nil, self) }
        }
        var sum = arguments[1] ?? .int(0)
        guard sum.text == nil else { throw fail("sum() can't sum strings [use ''.join(seq) instead]") }
        try charge(items.count)
        for item in items { sum = try binary(.add, sum, item) }
        return sum
    }
}

enum NumberText {
    /// Python's `int(text, base)`.
    static func int(_ text: String, base: Int) -> Int? {
        var digits = text.unicodeScalars.drop(while: \.isPythonSpace)
        while let last = digits.last, last.isPythonSpace { digits.removeLast() }
        var sign = ""
        if let first = digits.first, first == "-" || first == "+" {
            sign = first == "-" ? "-" : ""
            digits.removeFirst()
        }
        var radix = base
        if digits.first == "0", let letter = digits.dropFirst().first {
            let prefix = ["x": 16, "o": 8, "b": 2][String(letter).lowercased()]
            if let prefix, base == prefix || base == 0 {
                radix = prefix
                digits = digits.dropFirst(2)
                if digits.first == "_" { digits.removeFirst() }
            }
        }
        if radix == 0 { radix = 10 }
        let plain = String(digits)
        guard (2...36).contains(radix), isGrouped(plain), plain.first != "+", plain.first != "-" else { return nil }
        return Int(sign + plain.filter { $0 != "_" }, radix: radix)
    }

    /// Python's `float(text)`.
    static func float(_ text: String) -> Double? {
        let trimmed = text.dropping(while: \.isPythonSpace).droppingLast(while: \.isPythonSpace)
        switch trimmed.lowercased() {
        case "inf", "+inf", "infinity", "+infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        case "nan", "+nan", "-nan": return .nan
        default: break
        }
        // Exclude hexadecimal floats, which `Double` accepts but Python does not.
        guard isGrouped(trimmed), trimmed.utf8.allSatisfy({ "0123456789+-.eE_".utf8.contains($0) }) else { return nil }
        let plain = trimmed.filter { $0 != "_" }
        if let value = Double(plain) { return value }
        // Python also accepts "1." and ".5".
        if plain.hasSuffix(".") { return Double(plain + "0") }
        return plain.utf8.contains(UInt8(ascii: "."))
            ? Double(plain.replacingOccurrences(of: ".", with: "0.", options: .anchored)) : nil
    }

    /// Whether each underscore stands between digits.
    private static func isGrouped(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let underscore = UInt8(ascii: "_")
        func isDigit(_ at: Int) -> Bool { bytes.indices.contains(at) && bytes[at] != underscore }
        return !bytes.isEmpty
            && bytes.indices.allSatisfy { bytes[$0] != underscore || isDigit($0 - 1) && isDigit($0 + 1) }
    }
}

enum PythonNumber {
    /// Python's `round(number, digits)`: correctly rounded on the exact value, ties to even.
    static func rounded(_ value: Double, _ digits: Int) -> Double {
        guard value.isFinite, digits <= 22 else { return value }
        if digits < 0 {
            guard digits > -309 else { return Double(signOf: value, magnitudeOf: 0) }
            let unit = pow(10.0, Double(-digits))
            return (value / unit).rounded(.toNearestOrEven) * unit
        }
        return Double(fixed(value, digits)) ?? value
    }

    /// `%.Nf`.
    static func fixed(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
