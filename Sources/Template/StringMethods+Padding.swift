extension Renderer {
    func justify(_ method: StringMethod, _ text: String, _ arguments: [Value?]) throws(TemplateError) -> String {
        let width = try integer(arguments[0] ?? .null, "width")
        let fill = try arguments[1].map { (value) throws(TemplateError) in try string(value, "fill character") } ?? " "
        guard fill.unicodeScalars.count == 1 else {
            throw fail("the fill character must be exactly one character long")
        }
        return try pad(text, to: width, with: fill, method)
    }

    func pad(
        _ text: String, to width: Int, with fill: String, _ method: StringMethod
    ) throws(TemplateError) -> String {
        let missing = width.subtractingReportingOverflow(text.unicodeScalars.count)
        guard !missing.overflow, missing.partialValue > 0 else { return text }
        let total = missing.partialValue
        // CPython's rounding: if an odd number of blanks is added, the extra one goes left if the width is odd.
        let left =
            switch method {
            case .ljust: 0
            case .rjust: total
            default: total / 2 + (total & width & 1)
            }
        let padding = try repeated(fill, left)
        return try checked(padding + text + repeated(fill, total - left))
    }

    func zeroFilled(_ text: String, _ width: Int) throws(TemplateError) -> String {
        guard let sign = text.unicodeScalars.first, sign == "+" || sign == "-" else {
            return try pad(text, to: width, with: "0", .rjust)
        }
        return String(sign)
            + (try pad(String(text.unicodeScalars.dropFirst()), to: max(width, 1) - 1, with: "0", .rjust))
    }

    func expandTabs(_ text: String, _ size: Int) throws(TemplateError) -> String {
        var result = ""
        var column = 0
        for scalar in text.unicodeScalars {
            if scalar == "\t" {
                let blanks = size > 0 ? size - column % size : 0
                result += try repeated(" ", blanks)
                // At most `size` more columns than the length of the text.
                column = size > 0 ? 0 : column
                _ = try checked(result)
            } else {
                result.unicodeScalars.append(scalar)
                column = scalar == "\n" || scalar == "\r" ? 0 : column + 1
            }
        }
        return result
    }
}
