extension Renderer {
    func evaluate(_ expression: Expression) throws(TemplateError) -> Value {
        try enter()
        defer { leave() }
        try charge()
        line = expression.line
        switch expression.kind {
        case .none: return .null
        case .bool(let bool): return .bool(bool)
        case .int(let int): return .int(int)
        case .double(let double): return .double(double)
        case .string(let text): return .string(text)
        case .name(let symbol): return try variable(symbol)
        case .attribute(let value, let name): return try attribute(name, of: try evaluate(value))
        case .item(let value, let index): return try item(try evaluate(index), of: try evaluate(value))
        case .not(let operand): return .bool(!(try evaluate(operand).isTruthy))
        case .and(let left, let right):
            let value = try evaluate(left)
            return value.isTruthy ? try evaluate(right) : value
        case .or(let left, let right):
            let value = try evaluate(left)
            return value.isTruthy ? value : try evaluate(right)
        case .conditional(let test, let then, let otherwise):
            if try evaluate(test).isTruthy { return try evaluate(then) }
            guard let otherwise else { return .undefined(Undefined.withoutElse) }
            return try evaluate(otherwise)
        case .call: return try evaluateCall(expression, caller: nil)
        case .filter: return try evaluateFilter(expression, body: nil)
        default: return try evaluateRare(expression)
        }
    }

    /// The less common cases, in a separate function to keep the stack frame of the common ones small.
    private func evaluateRare(_ expression: Expression) throws(TemplateError) -> Value {
        switch expression.kind {
        case .list(let items): return try list(try evaluateAll(items))
        case .tuple(let items): return try tuple(try evaluateAll(items))
        case .dict(let entries): return try evaluateDict(entries)
        case .slice(let value, let start, let stop, let step):
            return try slice(
                try evaluate(value), try evaluate(start), try evaluate(stop), try evaluate(step))
        case .test(let value, let test, let arguments): return .bool(try evaluateTest(value, test, arguments))
        case .negative(let operand): return try negate(try evaluate(operand))
        case .positive(let operand): return try plus(try evaluate(operand))
        case .binary(let symbol, let left, let right): return try evaluateBinary(symbol, left, right)
        case .concat(let parts): return try evaluateConcat(parts)
        case .compare(let left, let comparisons): return try evaluateCompare(left, comparisons)
        default: throw fail("expression of an unknown kind")
        }
    }

    private func evaluate(_ expression: Expression?) throws(TemplateError) -> Value? {
        guard let expression else { return nil }
        return try evaluate(expression)
    }

    private func evaluateAll(_ expressions: [Expression]) throws(TemplateError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(expressions.count)
        for expression in expressions { values.append(try evaluate(expression)) }
        return values
    }

    private func evaluateDict(_ entries: [DictEntry]) throws(TemplateError) -> Value {
        var values: [(Value, Value)] = []
        for entry in entries { values.append((try evaluate(entry.key), try evaluate(entry.value))) }
        return try dict(values)
    }

    private func evaluateBinary(
        _ symbol: BinaryOperator, _ left: Expression, _ right: Expression
    ) throws(TemplateError) -> Value {
        try binary(symbol, try evaluate(left), try evaluate(right))
    }

    private func evaluateConcat(_ parts: [Expression]) throws(TemplateError) -> Value {
        var text = ""
        for part in parts {
            let piece = try string(try evaluate(part))
            try charge(bytes: piece.utf8.count)
            text += piece
            _ = try checked(text)
        }
        return .string(text)
    }

    /// `a < b < c` compares neighbours and stops at the first that is false.
    private func evaluateCompare(_ left: Expression, _ comparisons: [Comparison]) throws(TemplateError) -> Value {
        var left = try evaluate(left)
        for comparison in comparisons {
            let right = try evaluate(comparison.right)
            guard try compare(comparison.comparator, left, right) else { return .bool(false) }
            left = right
        }
        return .bool(true)
    }
}

extension Undefined {
    static var withoutElse: Undefined {
        Undefined("the inline if-expression evaluated to false and no else section was defined")
    }
}

// MARK: - Calls, filters and tests

extension Renderer {
    private func evaluate(_ arguments: CallArguments) throws(TemplateError) -> Arguments {
        if arguments.isEmpty { return Arguments() }
        var result = Arguments(positional: try evaluateAll(arguments.positional))
        for argument in arguments.named { result.named.append((argument.name, try evaluate(argument.value))) }
        if let list = arguments.unpackedList {
            result.positional += try iterate(try evaluate(list))
        }
        if let expression = arguments.unpackedDict {
            guard case .dict(let dict) = try evaluate(expression) else {
                throw fail("the argument after ** must be a mapping")
            }
            // Each name is compared with those before it.
            try charge(dict.count * (dict.count + result.named.count))
            for (key, value) in dict.entries {
                guard let name = key.text else { throw fail("keywords must be strings") }
                guard !result.named.contains(where: { $0.name == name }) else {
                    throw fail("got multiple values for keyword argument '\(name)'")
                }
                result.named.append((name, value))
            }
        }
        try charge(result.positional.count + result.named.count)
        return result
    }

    /// - Parameter caller: The body of the `call` block with this call.
    func evaluateCall(_ expression: Expression, caller: Value?) throws(TemplateError) -> Value {
        guard case .call(let callee, let callArguments) = expression.kind else { return try evaluate(expression) }
        let function = try evaluate(callee)
        var arguments = try evaluate(callArguments)
        if let caller { arguments.named.append(("caller", caller)) }
        line = expression.line
        switch function {
        case .object(let object): return try object.call(arguments, self)
        case .undefined(let undefined): throw fail(undefined)
        default: throw fail("'\(function.typeName)' object is not callable")
        }
    }

    /// - Parameter body: Input of the innermost filter if the expression has none.
    func evaluateFilter(_ expression: Expression, body: Value?) throws(TemplateError) -> Value {
        guard case .filter(let input, let filter, let callArguments) = expression.kind else {
            return try evaluate(expression)
        }
        guard let known = filter.known else { throw fail("no filter named '\(filter.name)'") }
        let value: Value
        if let input {
            value =
                body == nil
                ? try evaluate(input)
                : try nested { () throws(TemplateError) in
                    try evaluateFilter(input, body: body)
                }
        } else {
            value = body ?? .null
        }
        let arguments = try evaluate(callArguments)
        line = expression.line
        return try apply(known, to: value, arguments)
    }

    private func evaluateTest(
        _ value: Expression, _ test: TestName, _ callArguments: CallArguments
    ) throws(TemplateError) -> Bool {
        guard let known = test.known else { throw fail("no test named '\(test.name)'") }
        let value = try evaluate(value)
        let arguments = try evaluate(callArguments)
        return try apply(known, to: value, arguments)
    }
}
