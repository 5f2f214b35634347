import Foundation

/// A format specification of `%` and of `format`.
struct NumberFormat {
    var fill: Unicode.Scalar = " "
    /// `<`, `>`, `^` or `=`; nil: the type's default.
    var alignment: Unicode.Scalar?
    /// `+`, `-` or a blank.
    var sign: Unicode.Scalar = "-"
    var isAlternate = false
    var grouping: Unicode.Scalar?
    var width = 0
    var precision: Int?
    var type: Unicode.Scalar?
}

extension Renderer {
    /// Maximum precision; a double has at most 1100 significant digits.
    private static let maximumPrecision = 2000

    func format(integer: Int, _ format: NumberFormat) throws(TemplateError) -> String {
        var prefix = ""
        let digits: String
        switch format.type {
        case "x": (digits, prefix) = (String(integer.magnitude, radix: 16), "0x")
        case "X": (digits, prefix) = (String(integer.magnitude, radix: 16, uppercase: true), "0X")
        case "o": (digits, prefix) = (String(integer.magnitude, radix: 8), "0o")
        case "b": (digits, prefix) = (String(integer.magnitude, radix: 2), "0b")
        case nil, "d", "i", "u", "n": digits = String(integer.magnitude)
        default: return try self.format(double: Double(integer), format)
        }
        if !format.isAlternate { prefix = "" }
        var padded = digits
        if let precision = format.precision { padded = try pad(digits, to: precision, with: "0", .rjust) }
        return try layOut(sign(of: integer < 0, format) + prefix, grouped(padded, format), format)
    }

    func format(double: Double, _ format: NumberFormat) throws(TemplateError) -> String {
        let precision = format.precision ?? 6
        guard (0...Renderer.maximumPrecision).contains(precision) else { throw fail("precision too large", .limit) }
        let isNegative = double.sign == .minus && !double.isNaN
        guard double.isFinite else {
            return try layOut(sign(of: isNegative, format), double.isNaN ? "nan" : "inf", format)
        }
        let value = double.magnitude
        let alternate = format.isAlternate ? "#" : ""
        let digits: String
        switch format.type {
        case "f", "F": digits = String(format: "%\(alternate).\(precision)f", value)
        case "e": digits = String(format: "%\(alternate).\(precision)e", value)
        case "E": digits = String(format: "%\(alternate).\(precision)E", value)
        case "g": digits = String(format: "%\(alternate).\(precision)g", value)
        case "G": digits = String(format: "%\(alternate).\(precision)G", value)
        case "%": digits = String(format: "%.\(precision)f", value * 100) + "%"
        case nil where format.precision == nil: digits = PythonText.float(value)
        case nil:
            let text = String(format: "%.\(precision)g", value)
            digits = text.contains(where: { $0 == "." || $0 == "e" }) ? text : text + ".0"
        case let type?: throw fail("unknown format code '\(type)' for a number")
        }
        return try layOut(sign(of: isNegative, format), grouped(digits, format), format)
    }

    func format(text: String, _ format: NumberFormat) throws(TemplateError) -> String {
        let cut = format.precision.map { String(text.unicodeScalars.prefix(max($0, 0))) } ?? text
        var format = format
        format.alignment = format.alignment ?? "<"
        return try layOut("", cut, format)
    }

    private func sign(of isNegative: Bool, _ format: NumberFormat) -> String {
        isNegative ? "-" : format.sign == "-" ? "" : String(format.sign)
    }

    private func grouped(_ digits: String, _ format: NumberFormat) -> String {
        guard let separator = format.grouping else { return digits }
        let whole = digits.prefix { $0.isASCII && $0.isHexDigit && $0 != "e" }
        var result = ""
        for (index, digit) in whole.enumerated() {
            if index > 0, (whole.count - index).isMultiple(of: 3) { result.unicodeScalars.append(separator) }
            result.append(digit)
        }
        return result + digits.dropFirst(whole.count)
    }

    private func layOut(_ sign: String, _ digits: String, _ format: NumberFormat) throws(TemplateError) -> String {
        let fill = String(format.fill)
        let text = sign + digits
        switch format.alignment ?? ">" {
        case "<": return try pad(text, to: format.width, with: fill, .ljust)
        case "^":
            let missing = max(0, format.width - text.unicodeScalars.count)
            let left = try pad(text, to: format.width - (missing + 1) / 2, with: fill, .rjust)
            return try pad(left, to: format.width, with: fill, .ljust)
        case "=":
            let width = format.width - sign.unicodeScalars.count
            return sign + (try pad(digits, to: width, with: fill, .rjust))
        default: return try pad(text, to: format.width, with: fill, .rjust)
        }
    }
}

/// Reads a format scalar by scalar.
struct ScalarReader {
    private let scalars: [Unicode.Scalar]
    private(set) var position = 0

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    mutating func next() -> Unicode.Scalar? {
        guard let scalar = current else { return nil }
        position += 1
        return scalar
    }

    func peek(_ offset: Int) -> Unicode.Scalar? {
        position + offset < scalars.count ? scalars[position + offset] : nil
    }

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard current == scalar else { return false }
        position += 1
        return true
    }

    mutating func read(until isEnd: (Unicode.Scalar) -> Bool) -> String {
        let start = position
        while let scalar = current, !isEnd(scalar) { position += 1 }
        return String(scalars[start..<position])
    }

    /// The number at the current position; nil if there is none. Numbers beyond 64 bits are clamped.
    mutating func number() -> Int? {
        let digits = read { !$0.isASCIIDigit }
        return digits.isEmpty ? nil : Int(digits) ?? .max
    }
}
