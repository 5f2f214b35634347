/// Python's escapes in string literals.
enum StringLiteral {
    static func unescape(_ source: ArraySlice<Unicode.Scalar>, line: Int) throws(TemplateError) -> String {
        var result = String.UnicodeScalarView()
        var at = source.startIndex
        while at < source.endIndex {
            let scalar = source[at]
            at += 1
            guard scalar == "\\", at < source.endIndex else {
                result.append(scalar)
                continue
            }
            let escape = source[at]
            at += 1
            switch escape {
            case "\n": break
            case "\\", "'", "\"": result.append(escape)
            case "n": result.append("\n")
            case "t": result.append("\t")
            case "r": result.append("\r")
            case "a": result.append("\u{07}")
            case "b": result.append("\u{08}")
            case "f": result.append("\u{0C}")
            case "v": result.append("\u{0B}")
            case "x": result.append(try hex(2, source, &at, line))
            case "u": result.append(try hex(4, source, &at, line))
            case "U": result.append(try hex(8, source, &at, line))
            case "N": throw TemplateError(.syntax, line: line, "\\N{…} is not supported in a string: use \\u")
            case "0"..."7":
                var value = escape.value - 0x30
                var count = 1
                while count < 3, at < source.endIndex, source[at] >= "0", source[at] <= "7" {
                    value = value * 8 + source[at].value - 0x30
                    at += 1
                    count += 1
                }
                // Three octal digits are at most 0o777 = 511, a valid scalar.
                result.append(Unicode.Scalar(value) ?? "\u{FFFD}")
            default:
                result.append("\\")
                result.append(escape)
            }
        }
        return String(result)
    }

    private static func hex(
        _ count: Int, _ source: ArraySlice<Unicode.Scalar>, _ at: inout Int, _ line: Int
    ) throws(TemplateError) -> Unicode.Scalar {
        guard at + count <= source.endIndex else {
            throw TemplateError(.syntax, line: line, "truncated escape: expected \(count) hexadecimal digits")
        }
        let digits = String(String.UnicodeScalarView(source[at..<(at + count)]))
        guard let value = UInt32(digits, radix: 16), digits.utf8.first != UInt8(ascii: "+"),
            let scalar = Unicode.Scalar(value)
        else {
            throw TemplateError(.syntax, line: line, "'\(digits)' is not a character's number")
        }
        at += count
        return scalar
    }
}

extension String {
    init(_ scalars: ArraySlice<Unicode.Scalar>) {
        self.init(String.UnicodeScalarView(scalars))
    }

    init(_ scalars: [Unicode.Scalar]) {
        self.init(String.UnicodeScalarView(scalars))
    }
}

extension Unicode.Scalar {
    /// Whether Python's `str.isspace`, `strip` and `\s` treat the scalar as white space.
    var isPythonSpace: Bool {
        switch value {
        case 0x09...0x0D, 0x1C...0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: true
        default: false
        }
    }

    var isASCIIDigit: Bool { value >= 0x30 && value <= 0x39 }
    var isHexDigit: Bool { properties.isASCIIHexDigit }

    var isIdentifierPart: Bool {
        switch value {
        case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
        case 0..<0x80: false
        default: properties.isXIDContinue
        }
    }
}
