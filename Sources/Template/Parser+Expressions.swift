extension Parser {
    mutating func parseExpression(withConditional: Bool = true) throws(TemplateError) -> Expression {
        try nested { (parser) throws(TemplateError) in
            withConditional ? try parser.parseConditional() : try parser.parseOr()
        }
    }

    /// One expression, or several separated by commas, which form a tuple.
    mutating func parseTuple(
        withConditional: Bool = true, endingWith end: String? = nil, inParentheses: Bool = false
    ) throws(TemplateError) -> Expression {
        let line = self.line
        var items: [Expression] = []
        var isTuple = false
        while true {
            if !items.isEmpty { try expect(symbol: ",") }
            if isTupleEnd(end) { break }
            items.append(try parseExpression(withConditional: withConditional))
            guard current.isSymbol(",") else { break }
            isTuple = true
        }
        if !isTuple {
            if let only = items.first { return only }
            guard inParentheses else { throw unexpected("an expression") }
        }
        return try make(.tuple(items), line, over: items)
    }

    func isTupleEnd(_ end: String?) -> Bool {
        switch current.kind {
        case .outputEnd, .blockEnd: true
        case .symbol: current.text == ")"
        case .name: end.map { current.text == $0 } ?? false
        default: false
        }
    }

    /// An expression node; throws if the tree exceeds the maximum height.
    func make(
        _ kind: Expression.Kind, _ line: Int, over children: [Expression] = []
    ) throws(TemplateError) -> Expression {
        let height = 1 + (children.lazy.map(\.height).max() ?? 0)
        guard height <= Parser.maximumHeight else {
            throw TemplateError(.limit, line: line, "an expression nests deeper than \(Parser.maximumHeight) levels")
        }
        return Expression(kind: kind, line: line, height: height)
    }
}

// MARK: - Operators, lowest precedence first

extension Parser {
    private mutating func parseConditional() throws(TemplateError) -> Expression {
        var line = self.line
        let unknownBefore = unknownNames.count
        var value = try parseOr()
        while skip(name: "if") {
            let test = try parseOr()
            let otherwise =
                skip(name: "else")
                ? try nested { (parser) throws(TemplateError) in try parser.parseConditional() } : nil
            unknownNames.removeSubrange(unknownBefore...)
            value = try make(
                .conditional(test: test, then: value, otherwise: otherwise), line,
                over: [test, value] + (otherwise.map { [$0] } ?? []))
            line = self.line
        }
        return value
    }

    private mutating func parseOr() throws(TemplateError) -> Expression {
        let line = self.line
        var left = try parseAnd()
        while skip(name: "or") {
            let right = try parseAnd()
            left = try make(.or(left, right), line, over: [left, right])
        }
        return left
    }

    private mutating func parseAnd() throws(TemplateError) -> Expression {
        let line = self.line
        var left = try parseNot()
        while skip(name: "and") {
            let right = try parseNot()
            left = try make(.and(left, right), line, over: [left, right])
        }
        return left
    }

    private mutating func parseNot() throws(TemplateError) -> Expression {
        let line = self.line
        guard skip(name: "not") else { return try parseCompare() }
        let operand = try nested { (parser) throws(TemplateError) in try parser.parseNot() }
        return try make(.not(operand), line, over: [operand])
    }

    private mutating func parseCompare() throws(TemplateError) -> Expression {
        let line = self.line
        let left = try parseSum()
        var comparisons: [Comparison] = []
        while let comparator = skipComparator() {
            comparisons.append(Comparison(comparator: comparator, right: try parseSum()))
        }
        if comparisons.isEmpty { return left }
        return try make(.compare(left, comparisons), line, over: [left] + comparisons.map(\.right))
    }

    private mutating func skipComparator() -> Comparator? {
        if current.kind == .symbol, let comparator = Comparator(rawValue: current.text) {
            advance()
            return comparator
        }
        if skip(name: "in") { return .isIn }
        if current.isName("not"), next.isName("in") {
            advance()
            advance()
            return .notIn
        }
        return nil
    }

    private mutating func parseSum() throws(TemplateError) -> Expression {
        let line = self.line
        var left = try parseConcat()
        while let symbol = skipOperator([.add, .subtract]) {
            let right = try parseConcat()
            left = try make(.binary(symbol, left, right), line, over: [left, right])
        }
        return left
    }

    private mutating func parseConcat() throws(TemplateError) -> Expression {
        let line = self.line
        var parts = [try parseProduct()]
        while skip(symbol: "~") { parts.append(try parseProduct()) }
        return parts.count == 1 ? parts[0] : try make(.concat(parts), line, over: parts)
    }

    private mutating func parseProduct() throws(TemplateError) -> Expression {
        let line = self.line
        var left = try parsePower()
        while let symbol = skipOperator([.multiply, .divide, .floorDivide, .modulo]) {
            let right = try parsePower()
            left = try make(.binary(symbol, left, right), line, over: [left, right])
        }
        return left
    }

    private mutating func parsePower() throws(TemplateError) -> Expression {
        let line = self.line
        var left = try parseUnary()
        while let symbol = skipOperator([.power]) {
            let right = try parseUnary()
            left = try make(.binary(symbol, left, right), line, over: [left, right])
        }
        return left
    }

    private mutating func skipOperator(_ operators: [BinaryOperator]) -> BinaryOperator? {
        guard current.kind == .symbol, let symbol = BinaryOperator(rawValue: current.text), operators.contains(symbol)
        else { return nil }
        advance()
        return symbol
    }

    private mutating func parseUnary(withFilter: Bool = true) throws(TemplateError) -> Expression {
        let line = self.line
        var value: Expression
        if current.isSymbol("-") || current.isSymbol("+") {
            let isNegative = advance().text == "-"
            let operand = try nested { (parser) throws(TemplateError) in try parser.parseUnary(withFilter: false) }
            value = try make(isNegative ? .negative(operand) : .positive(operand), line, over: [operand])
        } else {
            value = try parsePrimary()
        }
        value = try parsePostfix(value)
        return withFilter ? try parseFiltersAndTests(value) : value
    }
}

// MARK: - Literals and names

extension Parser {
    mutating func parsePrimary() throws(TemplateError) -> Expression {
        let token = current
        let line = token.line
        switch token.kind {
        case .name:
            advance()
            switch token.text {
            case "true", "True": return try make(.bool(true), line)
            case "false", "False": return try make(.bool(false), line)
            case "none", "None": return try make(.none, line)
            default:
                let symbol = symbols.intern(token.text)
                if symbol <= SymbolTable.kwargs { noteMention(symbol, in: &macroMentions) }
                return try make(.name(symbol), line)
            }
        case .string:
            var text = ""
            while current.kind == .string { text += advance().text }
            return try make(.string(text), line)
        case .integer:
            advance()
            return try make(.int(try integer(token)), line)
        case .float:
            advance()
            guard let value = Double(token.text) else { throw fail("'\(token.text)' is not a number", line: line) }
            return try make(.double(value), line)
        case .symbol:
            switch token.text {
            case "(":
                advance()
                let value = try parseTuple(inParentheses: true)
                try expect(symbol: ")")
                return value
            case "[": return try parseList()
            case "{": return try parseDict()
            default: break
            }
        default: break
        }
        throw unexpected("an expression")
    }

    func integer(_ token: TemplateToken) throws(TemplateError) -> Int {
        let text = token.text.lowercased()
        let radix = text.hasPrefix("0x") ? 16 : text.hasPrefix("0o") ? 8 : text.hasPrefix("0b") ? 2 : 10
        guard let value = Int(radix == 10 ? text[...] : text.dropFirst(2), radix: radix) else {
            throw fail("the number \(token.text) does not fit in 64 bits", line: token.line)
        }
        return value
    }

    private mutating func parseList() throws(TemplateError) -> Expression {
        let line = self.line
        try expect(symbol: "[")
        var items: [Expression] = []
        while !current.isSymbol("]") {
            if !items.isEmpty { try expect(symbol: ",") }
            if current.isSymbol("]") { break }
            items.append(try parseExpression())
        }
        try expect(symbol: "]")
        return try make(.list(items), line, over: items)
    }

    private mutating func parseDict() throws(TemplateError) -> Expression {
        let line = self.line
        try expect(symbol: "{")
        var entries: [DictEntry] = []
        while !current.isSymbol("}") {
            if !entries.isEmpty { try expect(symbol: ",") }
            if current.isSymbol("}") { break }
            let key = try parseExpression()
            try expect(symbol: ":")
            entries.append(DictEntry(key: key, value: try parseExpression()))
        }
        try expect(symbol: "}")
        return try make(.dict(entries), line, over: entries.flatMap { [$0.key, $0.value] })
    }
}
