extension Parser {
    mutating func parseStatement(_ ends: [String]) throws(TemplateError) -> [Statement] {
        let line = self.line
        guard current.kind == .name else { throw unexpected("a tag's name") }
        let tag = advance().text
        let kind: Statement.Kind
        switch tag {
        case "for": kind = try parseFor()
        case "if": kind = try parseIf()
        case "set": kind = try parseSet()
        case "macro": kind = .macro(try parseMacro())
        case "call": kind = try parseCallBlock()
        case "filter":
            let filter = try parseFilter(on: nil, isFirst: true)
            kind = .filterBlock(
                filter,
                body: try inOwnFrame { (parser) throws(TemplateError) in
                    try parser.parseStatements(through: "endfilter")
                })
        case "with": kind = try parseWith()
        case "autoescape":
            _ = try parseExpression()
            kind = .scope(try parseOwnFrame(through: "endautoescape"))
        case "generation":
            kind = .scope(
                try inOwnFunction { (parser) throws(TemplateError) in
                    try parser.parseStatements(through: "endgeneration")
                })
        case "block": kind = try parseBlock()
        case "print": return try parsePrint()
        case "do": kind = .evaluate(try parseTuple())
        case "break", "continue":
            guard loopDepth > 0 else { throw fail("'\(tag)' outside of a loop", line: line) }
            kind = tag == "break" ? .breakLoop : .continueLoop
        case "include", "import", "from", "extends":
            throw fail("'{% \(tag) %}' needs other templates, which a chat template does not have", line: line)
        default:
            let expected = ends.isEmpty ? "" : "; expected \(ends.map { "'\($0)'" }.joined(separator: " or "))"
            throw fail("unknown tag '\(tag)'\(expected)", line: line)
        }
        return [Statement(kind: kind, line: line)]
    }

    private mutating func parseOwnFrame(through end: String) throws(TemplateError) -> [Statement] {
        try inOwnFrame { (parser) throws(TemplateError) in try parser.parseStatements(through: end) }
    }

    private mutating func parseFor() throws(TemplateError) -> Statement.Kind {
        let target = try parseTarget()
        try rejectLoopTarget(target)
        try expect(name: "in")
        let iterable = try parseTuple(withConditional: false, endingWith: "recursive")
        let test = skip(name: "if") ? try parseExpression() : nil
        let isRecursive = skip(name: "recursive")
        loopDepth += 1
        let body = try inOwnFrame { (parser) throws(TemplateError) in
            try parser.parseStatements(until: ["else", "endfor"])
        }
        loopDepth -= 1
        let hasElse = advance().text == "else"
        let otherwise = hasElse ? try parseOwnFrame(through: "endfor") : []
        return .forLoop(
            ForLoop(
                target: target, iterable: iterable, test: test, body: body, otherwise: otherwise,
                isRecursive: isRecursive))
    }

    private func rejectLoopTarget(_ target: Target) throws(TemplateError) {
        switch target {
        case .name(SymbolTable.loop): throw fail("can't assign to the special variable 'loop' in a for-loop's target")
        case .tuple(let targets): for target in targets { try rejectLoopTarget(target) }
        case .name, .namespaceAttribute: break
        }
    }

    private mutating func parseIf() throws(TemplateError) -> Statement.Kind {
        let saved = isConditional
        defer { isConditional = saved }
        isConditional = true
        var branches: [Branch] = []
        while true {
            let test = try parseTuple(withConditional: false)
            let body = try parseStatements(until: ["elif", "else", "endif"])
            branches.append(Branch(test: test, body: body))
            let tag = advance().text
            if tag == "elif" { continue }
            let otherwise = tag == "else" ? try parseStatements(through: "endif") : []
            return .ifElse(branches, otherwise: otherwise)
        }
    }

    private mutating func parseSet() throws(TemplateError) -> Statement.Kind {
        let target = try parseTarget(withNamespace: true)
        if skip(symbol: "=") { return .set(target, try parseTuple()) }
        let filter = current.isSymbol("|") ? try parseFilter(on: nil, isFirst: false) : nil
        return .setBlock(target, filter: filter, body: try parseOwnFrame(through: "endset"))
    }

    private mutating func parseWith() throws(TemplateError) -> Statement.Kind {
        var bindings: [WithBinding] = []
        while current.kind != .blockEnd {
            if !bindings.isEmpty { try expect(symbol: ",") }
            let target = try parseTarget()
            try expect(symbol: "=")
            bindings.append(WithBinding(target: target, value: try parseExpression()))
        }
        return .with(bindings, body: try parseOwnFrame(through: "endwith"))
    }

    private mutating func parseBlock() throws(TemplateError) -> Statement.Kind {
        let name = try expectName()
        guard blockNames.insert(name).inserted else { throw fail("block '\(name)' defined twice") }
        _ = skip(name: "scoped")
        _ = skip(name: "required")
        let body = try inOwnFunction { (parser) throws(TemplateError) in
            try parser.parseStatements(through: "endblock")
        }
        _ = skip(name: name)
        return .block(body)
    }

    private mutating func parsePrint() throws(TemplateError) -> [Statement] {
        var statements: [Statement] = []
        while current.kind != .blockEnd {
            if !statements.isEmpty { try expect(symbol: ",") }
            let line = self.line
            statements.append(Statement(kind: .output(try parseExpression()), line: line))
        }
        return statements
    }
}

// MARK: - Macros

extension Parser {
    private mutating func parseMacro() throws(TemplateError) -> MacroDefinition {
        let name = try expectAssignableName()
        let symbol = symbols.intern(name)
        guard current.isSymbol("(") else { throw unexpected("'('") }
        return try parseMacroBody(name: name, symbol: symbol, through: "endmacro")
    }

    private mutating func parseCallBlock() throws(TemplateError) -> Statement.Kind {
        let line = self.line
        let (parameters, mentions) = try parseSignature(isOptional: true)
        let call = try parseExpression()
        guard case .call = call.kind else { throw fail("expected a call", line: line) }
        let definition = try parseMacroBody(
            name: nil, symbol: SymbolTable.caller, parameters: parameters, mentions: mentions, through: "endcall")
        return .callBlock(definition, call: call)
    }

    private mutating func parseMacroBody(
        name: String, symbol: Symbol, through end: String
    ) throws(TemplateError) -> MacroDefinition {
        let (parameters, mentions) = try parseSignature(isOptional: false)
        return try parseMacroBody(
            name: name, symbol: symbol, parameters: parameters, mentions: mentions, through: end)
    }

    private mutating func parseMacroBody(
        name: String?, symbol: Symbol, parameters: [MacroDefinition.Parameter], mentions: Set<Symbol>,
        through end: String
    ) throws(TemplateError) -> MacroDefinition {
        macroMentions.append(mentions)
        defer { macroMentions.removeLast() }
        let body = try inOwnFunction { (parser) throws(TemplateError) in try parser.parseStatements(through: end) }
        let used = macroMentions[macroMentions.count - 1]
        let own = Set(parameters.map(\.symbol))
        func uses(_ symbol: Symbol) -> Bool { used.contains(symbol) && !own.contains(symbol) }
        if used.contains(SymbolTable.caller), let caller = parameters.first(where: { $0.symbol == SymbolTable.caller }),
            caller.defaultValue == nil
        {
            throw fail("the special argument 'caller' must be omitted or be given a default")
        }
        return MacroDefinition(
            name: name, symbol: symbol, parameters: parameters, body: body, usesCaller: uses(SymbolTable.caller),
            usesVarargs: uses(SymbolTable.varargs), usesKwargs: uses(SymbolTable.kwargs))
    }

    /// Parameters, and the special names that their defaults mention.
    private mutating func parseSignature(
        isOptional: Bool
    ) throws(TemplateError) -> ([MacroDefinition.Parameter], Set<Symbol>) {
        if isOptional, !current.isSymbol("(") { return ([], []) }
        try expect(symbol: "(")
        macroMentions.append([])
        var parameters: [MacroDefinition.Parameter] = []
        while !current.isSymbol(")") {
            if !parameters.isEmpty { try expect(symbol: ",") }
            let name = try expectAssignableName()
            var defaultValue: Expression?
            if skip(symbol: "=") {
                defaultValue = try parseExpression()
            } else if parameters.last?.defaultValue != nil {
                throw fail("non-default argument '\(name)' follows default argument")
            }
            parameters.append(.init(name: name, symbol: symbols.intern(name), defaultValue: defaultValue))
        }
        try expect(symbol: ")")
        guard Set(parameters.map(\.symbol)).count == parameters.count else {
            throw fail("two parameters have the same name")
        }
        return (parameters, macroMentions.removeLast())
    }

    func noteMention(_ symbol: Symbol, in mentions: inout [Set<Symbol>]) {
        for index in mentions.indices { mentions[index].insert(symbol) }
    }
}

// MARK: - Assignment targets

extension Parser {
    /// A name that is not a constant.
    private mutating func expectAssignableName() throws(TemplateError) -> String {
        let name = try expectName()
        guard !["true", "false", "none", "True", "False", "None"].contains(name) else {
            throw fail("can't assign to '\(name)'")
        }
        return name
    }

    mutating func parseTarget(
        withNamespace: Bool = false
    ) throws(TemplateError) -> Target {
        var targets: [Target] = []
        var isTuple = false
        while true {
            if !targets.isEmpty { try expect(symbol: ",") }
            if current.isSymbol(")") { break }
            targets.append(try parsePrimaryTarget(withNamespace: withNamespace))
            guard current.isSymbol(",") else { break }
            isTuple = true
        }
        guard let first = targets.first else { throw unexpected("a name to assign to") }
        return isTuple ? .tuple(targets) : first
    }

    private mutating func parsePrimaryTarget(withNamespace: Bool) throws(TemplateError) -> Target {
        if skip(symbol: "(") {
            let target = try nested { (parser) throws(TemplateError) in try parser.parseTarget() }
            try expect(symbol: ")")
            return target
        }
        let name = try expectAssignableName()
        if withNamespace, skip(symbol: ".") {
            return .namespaceAttribute(symbols.intern(name), try expectName())
        }
        return .name(symbols.intern(name))
    }
}
