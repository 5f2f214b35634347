// `'…{}…'.format(…)`.
extension Renderer {
    func format(_ text: String, _ arguments: Arguments) throws(TemplateError) -> String {
        try charge(text.utf8.count)
        var counter = FieldCounter()
        return try format(text, arguments, &counter, isSpec: false)
    }

    private func format(
        _ text: String, _ arguments: Arguments, _ counter: inout FieldCounter, isSpec: Bool
    ) throws(TemplateError) -> String {
        var reader = ScalarReader(text)
        var result = ""
        while let scalar = reader.next() {
            switch scalar {
            case "{":
                if reader.skip("{") { result += "{" } else { result += try field(&reader, arguments, &counter, isSpec) }
                _ = try checked(result)
            case "}":
                guard reader.skip("}") else { throw fail("Single '}' encountered in format string") }
                result += "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private func field(
        _ reader: inout ScalarReader, _ arguments: Arguments, _ counter: inout FieldCounter, _ isSpec: Bool
    ) throws(TemplateError) -> String {
        guard !isSpec else { throw fail("Max string recursion exceeded") }
        let name = reader.read { "!:}[".unicodeScalars.contains($0) }
        var value = try lookUp(name, arguments, &counter)
        while reader.skip("[") {
            let key = reader.read { $0 == "]" }
            guard reader.skip("]") else { throw fail("expected ']' in a format field") }
            value = try item(Int(key).map { .int($0) } ?? .string(key), of: value)
            let rest = reader.read { "!:}[".unicodeScalars.contains($0) }
            value = try attributes(rest, of: value)
        }
        if reader.skip("!") {
            switch reader.next() {
            case "s": value = .string(try string(value))
            case "r", "a": value = .string(try repr(value))
            default: throw fail("unknown conversion in a format field")
            }
        }
        var spec = ""
        if reader.skip(":") {
            spec = try readSpec(&reader)
            if spec.utf8.contains(UInt8(ascii: "{")) { spec = try format(nested: spec, arguments, &counter) }
        }
        guard reader.skip("}") else { throw fail("expected '}' before end of string") }
        return try format(value, spec)
    }

    /// The specification up to its closing brace, with nested fields.
    private func readSpec(_ reader: inout ScalarReader) throws(TemplateError) -> String {
        var spec = ""
        var depth = 0
        while let scalar = reader.current, depth > 0 || scalar != "}" {
            if scalar == "{" { depth += 1 }
            if scalar == "}" { depth -= 1 }
            spec.unicodeScalars.append(scalar)
            _ = reader.next()
        }
        return spec
    }

    private func format(
        nested spec: String, _ arguments: Arguments, _ counter: inout FieldCounter
    ) throws(TemplateError) -> String {
        var reader = ScalarReader(spec)
        var result = ""
        while let scalar = reader.next() {
            guard scalar == "{" else {
                result.unicodeScalars.append(scalar)
                continue
            }
            let name = reader.read { $0 == "}" }
            guard reader.skip("}") else { throw fail("expected '}' before end of string") }
            result += try string(try lookUp(name, arguments, &counter))
        }
        return result
    }

    private func lookUp(
        _ name: String, _ arguments: Arguments, _ counter: inout FieldCounter
    ) throws(TemplateError) -> Value {
        var path = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        let first = path.removeFirst()  // splitting gives at least one part
        var value: Value
        if let index = try counter.index(of: first, self) {
            guard arguments.positional.indices.contains(index) else {
                throw fail("Replacement index \(index) out of range for positional args tuple")
            }
            value = arguments.positional[index]
        } else {
            try charge(arguments.named.count)
            guard let found = arguments.named.first(where: { $0.name == first }) else {
                throw fail("the format's argument '\(first)' is missing")
            }
            value = found.value
        }
        for part in path { value = try attribute(part, of: value) }
        return value
    }

    private func attributes(_ path: String, of value: Value) throws(TemplateError) -> Value {
        var value = value
        for part in path.utf8.split(separator: UInt8(ascii: ".")) {
            value = try attribute(String(Substring(part)), of: value)
        }
        return value
    }

    private func format(_ value: Value, _ spec: String) throws(TemplateError) -> String {
        if spec.isEmpty { return try string(value) }
        let format = try parse(spec)
        switch value {
        case .int(let int): return try self.format(integer: int, format)
        case .bool(let bool):
            return try self.format(integer: bool ? 1 : 0, format)
        case .double(let double): return try self.format(double: double, format)
        case .string(let text), .markup(let text):
            guard format.type == nil || format.type == "s" else {
                throw fail("unknown format code '\(format.type ?? "s")' for object of type 'str'")
            }
            return try self.format(text: text, format)
        case .undefined(let undefined): throw fail(undefined)
        default: throw fail("unsupported format string passed to \(value.typeName).__format__")
        }
    }

    /// `[[fill]align][sign][#][0][width][,][.precision][type]`
    private func parse(_ spec: String) throws(TemplateError) -> NumberFormat {
        var format = NumberFormat()
        var reader = ScalarReader(spec)
        let alignments = "<>^=".unicodeScalars
        if let second = reader.peek(1), alignments.contains(second) {
            format.fill = reader.next() ?? " "
            format.alignment = reader.next()
        } else if let first = reader.current, alignments.contains(first) {
            format.alignment = reader.next()
        }
        if let sign = reader.current, "+- ".unicodeScalars.contains(sign) { format.sign = reader.next() ?? "-" }
        format.isAlternate = reader.skip("#")
        if reader.skip("0"), format.alignment == nil { (format.fill, format.alignment) = ("0", "=") }
        format.width = reader.number() ?? 0
        if reader.skip(",") { format.grouping = "," } else if reader.skip("_") { format.grouping = "_" }
        if reader.skip(".") {
            guard let precision = reader.number() else { throw fail("format specifier missing precision") }
            format.precision = precision
        }
        format.type = reader.next()
        guard reader.current == nil else { throw fail("invalid format specifier '\(spec)'") }
        return format
    }
}

/// Numbers the fields of a format: automatically or explicitly, but not both.
private struct FieldCounter {
    private var next = 0
    private var isWritten: Bool?

    /// nil if the field has a name.
    mutating func index(of name: String, _ renderer: Renderer) throws(TemplateError) -> Int? {
        let written = name.isEmpty ? nil : Int(name)
        if written == nil, !name.isEmpty { return nil }
        guard isWritten == nil || isWritten == (written != nil) else {
            throw renderer.fail("cannot switch between automatic and manual field numbering")
        }
        isWritten = written != nil
        if let written { return written }
        next += 1
        return next - 1
    }
}
