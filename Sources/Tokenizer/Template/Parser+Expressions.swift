extension Parser {
    mutating func parseExpression(withConditional: Bool = true) throws(TemplateError) -> Expression {
        try nested { (parser) throws(TemplateError) in
            withConditional ? try parser.parseConditional() : try parser.parseOr()
        }
    }

    /// One expression, or several between commas, which make a tuple.
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

    /// An expression node, refused where the tree would get too high.
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

// MARK: - Operators, loosest first

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
    private mutating func parsePrimary() throws(TemplateError) -> Expression {
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

    private func integer(_ token: Token) throws(TemplateError) -> Int {
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

// MARK: - Subscripts, calls, filters and tests

extension Parser {
    private mutating func parsePostfix(_ value: Expression) throws(TemplateError) -> Expression {
        var value = value
        while current.kind == .symbol {
            switch current.text {
            case ".": value = try parseAttribute(of: value)
            case "[": value = try parseSubscript(of: value)
            case "(": value = try parseCall(of: value)
            default: return value
            }
        }
        return value
    }

    private mutating func parseFiltersAndTests(_ value: Expression) throws(TemplateError) -> Expression {
        var value = value
        while true {
            if current.isSymbol("|") {
                value = try parseFilter(on: value, isFirst: false)
            } else if current.isName("is") {
                value = try parseTest(of: value)
            } else if current.isSymbol("(") {
                value = try parseCall(of: value)
            } else {
                return value
            }
        }
    }

    private mutating func parseAttribute(of value: Expression) throws(TemplateError) -> Expression {
        let line = self.line
        advance()
        let token = advance()
        switch token.kind {
        case .name: return try make(.attribute(value, token.text), line, over: [value])
        case .integer:
            let index = try make(.int(try integer(token)), line)
            return try make(.item(value, index), line, over: [value])
        default: throw fail("expected a name or a number after '.'", line: line)
        }
    }

    private mutating func parseSubscript(of value: Expression) throws(TemplateError) -> Expression {
        let line = self.line
        try expect(symbol: "[")
        var items: [Expression] = []
        while !current.isSymbol("]") {
            if !items.isEmpty { try expect(symbol: ",") }
            let start = current.isSymbol(":") ? nil : try parseExpression()
            guard current.isSymbol(":") else {
                // `start` is nil only before a colon.
                if let start { items.append(start) }
                continue
            }
            guard items.isEmpty else { throw fail("a slice cannot be one of several subscripts") }
            let slice = try parseSlice(of: value, from: start, line)
            try expect(symbol: "]")
            return slice
        }
        try expect(symbol: "]")
        let index = items.count == 1 ? items[0] : try make(.tuple(items), line, over: items)
        return try make(.item(value, index), line, over: [value, index])
    }

    private mutating func parseSlice(
        of value: Expression, from start: Expression?, _ line: Int
    ) throws(TemplateError) -> Expression {
        var bounds: [Expression?] = []
        for _ in 0..<2 {
            guard skip(symbol: ":") else {
                bounds.append(nil)
                continue
            }
            bounds.append(current.isSymbol(":") || current.isSymbol("]") ? nil : try parseExpression())
        }
        return try make(
            .slice(value, start: start, stop: bounds[0], step: bounds[1]), line,
            over: [value] + ([start] + bounds).compactMap { $0 })
    }

    private mutating func parseCall(of value: Expression) throws(TemplateError) -> Expression {
        let line = self.line
        let arguments = try parseArguments()
        return try make(.call(value, arguments), line, over: [value] + arguments.expressions)
    }

    private mutating func parseArguments() throws(TemplateError) -> CallArguments {
        let line = self.line
        var arguments = CallArguments()
        try expect(symbol: "(")
        var isFirst = true
        var names: Set<String> = []
        while !current.isSymbol(")") {
            if !isFirst {
                try expect(symbol: ",")
                if current.isSymbol(")") { break }
            }
            isFirst = false
            let isOrdered: Bool
            if skip(symbol: "*") {
                isOrdered = arguments.unpackedList == nil && arguments.unpackedDict == nil
                arguments.unpackedList = try parseExpression()
            } else if skip(symbol: "**") {
                isOrdered = arguments.unpackedDict == nil
                arguments.unpackedDict = try parseExpression()
            } else if current.kind == .name, next.isSymbol("=") {
                isOrdered = arguments.unpackedDict == nil
                let name = advance().text
                advance()
                let value = try parseExpression()
                guard names.insert(name).inserted else {
                    throw fail("keyword argument repeated: \(name)", line: line)
                }
                arguments.named.append(NamedArgument(name: name, value: value))
            } else {
                isOrdered =
                    arguments.named.isEmpty && arguments.unpackedList == nil && arguments.unpackedDict == nil
                arguments.positional.append(try parseExpression())
            }
            guard isOrdered else { throw fail("invalid syntax for function call expression", line: line) }
        }
        try expect(symbol: ")")
        return arguments
    }

    /// A chain of filters. `input` is nil where they apply to a body; then the first has no `|` before it if `isFirst`.
    mutating func parseFilter(on input: Expression?, isFirst: Bool) throws(TemplateError) -> Expression {
        var value = input
        var isFirst = isFirst
        repeat {
            if !isFirst { try expect(symbol: "|") }
            isFirst = false
            let line = self.line
            let name = try parseDottedName()
            let arguments = current.isSymbol("(") ? try parseArguments() : .none
            let known = Filter.named[name]
            if known == nil { noteUnknown("filter", name, line) }
            value = try make(
                .filter(input: value, FilterName(name: name, known: known), arguments), line,
                over: (value.map { [$0] } ?? []) + arguments.expressions)
        } while current.isSymbol("|")
        guard let value else { throw unexpected("a filter") }
        return value
    }

    private mutating func parseTest(of value: Expression) throws(TemplateError) -> Expression {
        let line = self.line
        advance()
        let isNegated = skip(name: "not")
        let name = try parseDottedName()
        var arguments = CallArguments.none
        if current.isSymbol("(") {
            arguments = try parseArguments()
        } else if startsTestArgument {
            guard !current.isName("is") else { throw fail("tests with 'is' cannot be chained") }
            arguments.positional = [try parsePostfix(try parsePrimary())]
        }
        let known = Test.named[name]
        if known == nil { noteUnknown("test", name, line) }
        let test = try make(
            .test(value, TestName(name: name, known: known), arguments), line, over: [value] + arguments.expressions)
        return isNegated ? try make(.not(test), line, over: [test]) : test
    }

    private var startsTestArgument: Bool {
        switch current.kind {
        case .name: !["else", "or", "and"].contains(current.text)
        case .string, .integer, .float: true
        case .symbol: current.text == "[" || current.text == "{"
        default: false
        }
    }

    private mutating func parseDottedName() throws(TemplateError) -> String {
        var name = try expectName()
        while skip(symbol: ".") { name += "." + (try expectName()) }
        return name
    }

    private mutating func noteUnknown(_ what: String, _ name: String, _ line: Int) {
        if !isConditional { unknownNames.append(fail("no \(what) named '\(name)'", line: line)) }
    }
}

extension CallArguments {
    var expressions: [Expression] {
        positional + named.map(\.value) + [unpackedList, unpackedDict].compactMap { $0 }
    }
}
