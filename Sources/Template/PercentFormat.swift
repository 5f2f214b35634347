// `'…%s…' % values` and the filter `format`.
extension Renderer {
    func formatFilter(_ value: Value, _ arguments: Arguments) throws(TemplateError) -> Value {
        let format = try string(value)
        if arguments.named.isEmpty { return .string(try percentFormat(format, try tuple(arguments.positional))) }
        guard arguments.positional.isEmpty else {
            throw fail("can't handle positional and keyword arguments at the same time")
        }
        return .string(try percentFormat(format, try dict(arguments.named.map { (.string($0.name), $0.value) })))
    }

    func percentFormat(_ format: String, _ values: Value) throws(TemplateError) -> String {
        try charge(format.utf8.count)
        var reader = ScalarReader(format)
        var source = PercentValues(values)
        var result = ""
        while let scalar = reader.next() {
            if scalar == "%" {
                result += try percentField(&reader, &source)
                _ = try checked(result)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        guard source.isUsedUp else { throw fail("not all arguments converted during string formatting") }
        return result
    }

    private func percentField(_ reader: inout ScalarReader, _ source: inout PercentValues) throws(TemplateError)
        -> String
    {
        if reader.skip("%") { return "%" }
        var named: Value?
        if reader.skip("(") {
            let key = reader.read { $0 == ")" }
            guard reader.skip(")") else { throw fail("incomplete format key") }
            guard case .dict(let dict) = source.values else { throw fail("format requires a mapping") }
            guard let value = dict[key] else { throw fail("the format's key '\(key)' is missing") }
            source.isMapping = true
            named = value
        }
        var format = NumberFormat()
        readFlags(&reader, &format)
        if reader.skip("*") {
            format.width = try integer(try source.next(self), "* width")
            if format.width < 0 { format.alignment = "<" }
            format.width = Int(clamping: format.width.magnitude)
        } else {
            format.width = reader.number() ?? 0
        }
        if reader.skip(".") {
            format.precision =
                reader.skip("*") ? max(0, try integer(try source.next(self), "* precision")) : reader.number() ?? 0
        }
        while let scalar = reader.current, "hlL".unicodeScalars.contains(scalar) { _ = reader.next() }
        guard let type = reader.next() else { throw fail("incomplete format") }
        if type == "%" { return "%" }
        format.type = type
        if let named { return try percentField(format, named) }
        return try percentField(format, try source.next(self))
    }

    private func readFlags(_ reader: inout ScalarReader, _ format: inout NumberFormat) {
        while let flag = reader.current {
            switch flag {
            case "-": format.alignment = "<"
            case "+": format.sign = "+"
            case " ": if format.sign != "+" { format.sign = " " }
            case "#": format.isAlternate = true
            case "0":
                if format.alignment == nil { (format.alignment, format.fill) = ("=", "0") }
            default: return
            }
            _ = reader.next()
            if format.alignment == "<" { format.fill = " " }
        }
    }

    private func percentField(_ format: NumberFormat, _ value: Value) throws(TemplateError) -> String {
        var format = format
        let type = format.type ?? "s"
        switch type {
        case "s", "r", "a", "c":
            if format.alignment != "<" { format.alignment = ">" }
            format.fill = " "
            if type == "c" {
                format.precision = nil
                return try self.format(text: try character(value), format)
            }
            return try self.format(text: type == "s" ? try string(value) : try repr(value), format)
        case "d", "i", "u", "x", "X", "o":
            if case .undefined(let undefined) = value { throw fail(undefined) }
            if case .double(let double) = value, "diu".unicodeScalars.contains(type) {
                return try self.format(integer: try truncated(double), format)
            }
            guard let int = value.integer else {
                throw fail("%\(type) format: a number is required, not \(value.typeName)")
            }
            return try self.format(integer: int, format)
        case "e", "E", "f", "F", "g", "G":
            if case .undefined(let undefined) = value { throw fail(undefined) }
            guard let double = value.number else { throw fail("must be real number, not \(value.typeName)") }
            return try self.format(double: double, format)
        default: throw fail("unsupported format character '\(type)'")
        }
    }

    private func character(_ value: Value) throws(TemplateError) -> String {
        if let text = value.text, text.unicodeScalars.count == 1 { return text }
        guard let code = value.integer, let scalar = UInt32(exactly: code).flatMap(Unicode.Scalar.init) else {
            throw fail("%c requires int or char")
        }
        return String(scalar)
    }
}

/// The right side of `%`: the elements of a tuple in order, or a single value.
private struct PercentValues {
    let values: Value
    var isMapping = false
    private var used = 0
    private let items: [Value]

    init(_ values: Value) {
        self.values = values
        if case .tuple(let items) = values { self.items = items.values } else { items = [values] }
        if case .dict = values { isMapping = true }
    }

    mutating func next(_ renderer: Renderer) throws(TemplateError) -> Value {
        guard used < items.count else { throw renderer.fail("not enough arguments for format string") }
        used += 1
        return items[used - 1]
    }

    /// Whether all values were used; Python ignores an unused mapping or list.
    var isUsedUp: Bool {
        if isMapping || used == items.count { return true }
        if case .list = values { return true }
        return false
    }
}
