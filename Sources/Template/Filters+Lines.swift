extension Renderer {
    func indent(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> String {
        let text = try string(value, "indent's value")
        let width = arguments[0] ?? .int(4)
        var indentation = width.text ?? ""
        if width.text == nil { indentation = try repeated(" ", try integer(width, "indent width")) }
        let isFirst = arguments[1]?.isTruthy ?? false
        let blank = arguments[2]?.isTruthy ?? false
        var lines = try lines(of: text + "\n")
        let (growth, overflow) = indentation.utf8.count.multipliedReportingOverflow(by: lines.count)
        guard !overflow, growth <= limits.outputBytes else { throw fail("the indented text is too long", .limit) }
        try charge(bytes: text.utf8.count + growth)
        for index in lines.indices where index > 0 && (blank || !lines[index].isEmpty) {
            lines[index] = indentation + lines[index]
        }
        if isFirst { lines[0] = indentation + lines[0] }  // `lines` is not empty: a newline was added above
        return try checked(lines.joined(separator: "\n"))
    }

    func truncate(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> String {
        let text = try string(value, "truncate's value")
        let length = try integer(arguments[0] ?? .int(255), "length")
        let killWords = arguments[1]?.isTruthy ?? false
        let end = try string(arguments[2] ?? .string("..."), "end")
        let leeway = try integer(arguments[3].given ?? .int(5), "leeway")
        let endLength = end.unicodeScalars.count
        guard length >= endLength else { throw fail("expected length >= \(endLength), got \(length)") }
        guard leeway >= 0 else { throw fail("expected leeway >= 0, got \(leeway)") }
        try charge(bytes: text.utf8.count)
        let (limit, overflow) = length.addingReportingOverflow(leeway)
        if overflow || text.unicodeScalars.count <= limit { return text }
        let kept = String(text.unicodeScalars.prefix(length - endLength))
        if killWords { return kept + end }
        let words = kept.unicodeScalars
        return (words.lastIndex(of: " ").map { String(words[..<$0]) } ?? kept) + end
    }

    /// Breaks lines to at most `width`, at blanks or else inside words.
    func wordwrap(_ text: String, _ arguments: [Value?]) throws(TemplateError) -> String {
        let width = try integer(arguments[0] ?? .int(79), "width")
        guard width > 0 else { throw fail("invalid width \(width) (must be > 0)") }
        let breaksWords = arguments[1]?.isTruthy ?? true
        let newline =
            try arguments[2].given.map { (value) throws(TemplateError) in try string(value, "wrapstring") } ?? "\n"
        let breaksHyphens = arguments[3]?.isTruthy ?? true
        try charge(4 * text.utf8.count)  // words, blanks and lines may be single characters
        let wrapper = TextWrapper(width: width, breaksWords: breaksWords, breaksHyphens: breaksHyphens)
        // A line without words gives an empty line.
        let lines = try lines(of: text).flatMap { line in
            let wrapped = wrapper.wrap(line)
            return wrapped.isEmpty ? [""] : wrapped
        }
        return try join(lines.map { .string($0) }, newline, onlyStrings: true)
    }
}
