extension Parser {
    mutating func parsePostfix(_ value: Expression) throws(TemplateError) -> Expression {
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

    mutating func parseFiltersAndTests(_ value: Expression) throws(TemplateError) -> Expression {
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

    /// A chain of filters. `input` is nil if they apply to a body; if `isFirst`, the first has no `|` before it.
    mutating func parseFilter(on input: Expression?, isFirst: Bool) throws(TemplateError) -> Expression {
        var value = input
        var isFirst = isFirst
        repeat {
            if !isFirst { try expect(symbol: "|") }
            isFirst = false
            let line = self.line
            let name = try parseDottedName()
            let arguments = current.isSymbol("(") ? try parseArguments() : .none
            let known = JinjaFilter.named[name]
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
        let known = JinjaTest.named[name]
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
