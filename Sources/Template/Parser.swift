/// Parses the tokens of a template to statements and expressions, by Jinja2 3.1's grammar.
struct Parser {
    /// Maximum nesting of brackets and tags. Parsing uses at most 4 KiB of stack per level in a release build; Python's
    /// own recursion limit stops Jinja2 at about 60 brackets.
    static let maximumDepth = 60
    /// Maximum height of an expression's tree: a chain such as `a + b + c` is as high as it is long.
    static let maximumHeight = 100

    private let tokens: [TemplateToken]
    private var index = 0
    var depth = 0
    var symbols = SymbolTable()
    /// Number of loops around the current statement within the same macro or block, in which `break` is allowed.
    var loopDepth = 0
    /// In a branch of an `if`, an unknown filter or test is an error only when it is evaluated.
    var isConditional = false
    /// Errors for unknown filters and tests outside of such branches.
    var unknownNames: [TemplateError] = []
    /// Special names mentioned by the macros around the current token, innermost last.
    var macroMentions: [Set<Symbol>] = []
    var blockNames: Set<String> = []

    static func parse(_ source: String) throws(TemplateError) -> ParsedTemplate {
        var parser = Parser(tokens: try Lexer.tokenize(source))
        let body = try parser.parseBody(until: [])
        if let error = parser.unknownNames.first { throw error }
        return ParsedTemplate(body: body, symbols: parser.symbols)
    }

    private init(tokens: [TemplateToken]) {
        self.tokens = tokens
    }
}

// MARK: - Tokens

extension Parser {
    var current: TemplateToken { tokens[index] }
    var line: Int { current.line }
    var next: TemplateToken { tokens[min(index + 1, tokens.count - 1)] }

    @discardableResult
    mutating func advance() -> TemplateToken {
        let token = tokens[index]
        if index + 1 < tokens.count { index += 1 }  // the last token is `.end` and stays current
        return token
    }

    mutating func skip(symbol: String) -> Bool {
        guard current.isSymbol(symbol) else { return false }
        advance()
        return true
    }

    mutating func skip(name: String) -> Bool {
        guard current.isName(name) else { return false }
        advance()
        return true
    }

    mutating func expect(symbol: String) throws(TemplateError) {
        guard skip(symbol: symbol) else { throw unexpected("'\(symbol)'") }
    }

    mutating func expect(name: String) throws(TemplateError) {
        guard skip(name: name) else { throw unexpected("'\(name)'") }
    }

    mutating func expectName() throws(TemplateError) -> String {
        guard current.kind == .name else { throw unexpected("a name") }
        return advance().text
    }

    mutating func expect(_ kind: TemplateToken.Kind, _ described: String) throws(TemplateError) {
        guard current.kind == kind else { throw unexpected(described) }
        advance()
    }

    func unexpected(_ expected: String) -> TemplateError {
        fail("expected \(expected), found \(current.described)")
    }

    func fail(_ message: String, line: Int? = nil) -> TemplateError {
        TemplateError(.syntax, line: line ?? self.line, message)
    }

    /// Runs `parse` one level deeper.
    mutating func nested<T>(_ parse: (inout Parser) throws(TemplateError) -> T) throws(TemplateError) -> T {
        guard depth < Parser.maximumDepth else {
            throw TemplateError(.limit, line: line, "the template nests deeper than \(Parser.maximumDepth) levels")
        }
        depth += 1
        defer { depth -= 1 }
        return try parse(&self)
    }
}

// MARK: - Bodies

extension Parser {
    /// Reads statements until one of the tags in `ends`, which becomes the current token.
    mutating func parseBody(until ends: [String]) throws(TemplateError) -> [Statement] {
        var body: [Statement] = []
        while true {
            let line = self.line
            switch current.kind {
            case .text:
                body.append(Statement(kind: .text(advance().text), line: line))
            case .outputBegin:
                advance()
                body.append(Statement(kind: .output(try parseTuple()), line: line))
                try expect(.outputEnd, "'}}'")
            case .blockBegin:
                advance()
                if current.kind == .name, ends.contains(current.text) { return body }
                let statement = try nested { (parser) throws(TemplateError) in try parser.parseStatement(ends) }
                body.append(contentsOf: statement)
                try expect(.blockEnd, "'%}'")
            case .end:
                guard let end = ends.last else { return body }
                throw fail("the template ends where '{% \(end) %}' was expected")
            default:
                throw unexpected("text or a tag")
            }
        }
    }

    /// The body after a tag, up to one of `ends`.
    mutating func parseStatements(until ends: [String]) throws(TemplateError) -> [Statement] {
        _ = skip(symbol: ":")
        try expect(.blockEnd, "'%}'")
        return try parseBody(until: ends)
    }

    /// The body after a tag; also consumes the end tag.
    mutating func parseStatements(through end: String) throws(TemplateError) -> [Statement] {
        let body = try parseStatements(until: [end])
        advance()
        return body
    }

    /// Parses a body that Jinja2 compiles as a separate frame, in which unknown names are errors at once.
    mutating func inOwnFrame<T>(_ parse: (inout Parser) throws(TemplateError) -> T) throws(TemplateError) -> T {
        let saved = isConditional
        isConditional = false
        defer { isConditional = saved }
        return try parse(&self)
    }

    /// Parses a body that Jinja2 compiles to a function, which `break` cannot leave.
    mutating func inOwnFunction<T>(_ parse: (inout Parser) throws(TemplateError) -> T) throws(TemplateError) -> T {
        let saved = loopDepth
        loopDepth = 0
        defer { loopDepth = saved }
        return try inOwnFrame(parse)
    }
}
