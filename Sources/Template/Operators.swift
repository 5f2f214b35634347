import Foundation

// Python's operators.
extension Renderer {
    func binary(_ symbol: BinaryOperator, _ left: Value, _ right: Value) throws(TemplateError) -> Value {
        if case .undefined(let undefined) = left { throw fail(undefined) }
        if symbol == .modulo, let format = left.text { return .string(try percentFormat(format, right)) }
        if case .undefined(let undefined) = right { throw fail(undefined) }
        switch symbol {
        case .add: if let sum = try concatenation(left, right) { return sum }
        case .multiply:
            if let count = right.integer, let product = try repetition(left, count) { return product }
            if let count = left.integer, let product = try repetition(right, count) { return product }
        default: break
        }
        if let left = left.integer, let right = right.integer { return try integerArithmetic(symbol, left, right) }
        if let left = left.number, let right = right.number {
            return .double(try floatArithmetic(symbol, left, right))
        }
        throw fail("unsupported operand types for \(symbol.rawValue): '\(left.typeName)' and '\(right.typeName)'")
    }

    private func concatenation(_ left: Value, _ right: Value) throws(TemplateError) -> Value? {
        switch (left, right) {
        case (.string(let left), .string(let right)): return .string(try joined(left, right))
        case (.list(let left), .list(let right)): return try list(try joined(left.values, right.values))
        case (.tuple(let left), .tuple(let right)): return try tuple(try joined(left.values, right.values))
        case (.markup(let left), .markup(let right)): return .markup(try joined(left, right))
        case (.markup(let left), .string(let right)): return .markup(try joined(left, escaped(right)))
        case (.string(let left), .markup(let right)): return .markup(try joined(escaped(left), right))
        default: return nil
        }
    }

    private func joined(_ left: String, _ right: String) throws(TemplateError) -> String {
        try charge(bytes: left.utf8.count + right.utf8.count)
        return try checked(left + right)
    }

    private func joined(_ left: [Value], _ right: [Value]) throws(TemplateError) -> [Value] {
        try charge(left.count + right.count)
        return left + right
    }

    private func repetition(_ value: Value, _ count: Int) throws(TemplateError) -> Value? {
        let count = max(count, 0)
        switch value {
        case .string(let text): return .string(try repeated(text, count))
        case .markup(let text): return .markup(try repeated(text, count))
        case .list(let items): return try list(try repeated(items.values, count))
        case .tuple(let items): return try tuple(try repeated(items.values, count))
        default: return nil
        }
    }

    func repeated(_ text: String, _ count: Int) throws(TemplateError) -> String {
        let (size, overflow) = text.utf8.count.multipliedReportingOverflow(by: max(count, 0))
        guard !overflow, size <= limits.outputBytes else { throw tooLong() }
        try charge(bytes: size)
        let unit = Array(text.utf8)
        return String(unsafeUninitializedCapacity: size) { buffer in
            for at in 0..<size { buffer.initializeElement(at: at, to: unit[at % unit.count]) }
            return size
        }
    }

    private func repeated(_ values: [Value], _ count: Int) throws(TemplateError) -> [Value] {
        let (size, overflow) = values.count.multipliedReportingOverflow(by: count)
        guard !overflow, size <= Renderer.maximumWeight else { throw fail("the repeated list is too long", .limit) }
        try charge(size)
        return Array(repeatElement(values, count: count).joined())
    }

    /// `text`, if it is within the limit on output.
    func checked(_ text: String) throws(TemplateError) -> String {
        guard text.utf8.count <= limits.outputBytes else { throw tooLong() }
        return text
    }

    private func tooLong() -> TemplateError {
        fail("the template builds a text of more than \(limits.outputBytes) bytes", .limit)
    }
}

// MARK: - Numbers

extension Renderer {
    private func integerArithmetic(_ symbol: BinaryOperator, _ left: Int, _ right: Int) throws(TemplateError) -> Value {
        switch symbol {
        case .add: return .int(try exact(left.addingReportingOverflow(right)))
        case .subtract: return .int(try exact(left.subtractingReportingOverflow(right)))
        case .multiply: return .int(try exact(left.multipliedReportingOverflow(by: right)))
        case .power where right >= 0: return .int(try power(left, right))
        case .floorDivide:
            guard right != 0 else { throw fail("integer division or modulo by zero") }
            let quotient = try exact(left.dividedReportingOverflow(by: right))
            // The remainder is smaller than the divisor, so `quotient - 1` cannot overflow.
            return .int(left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient)
        case .modulo:
            guard right != 0 else { throw fail("integer division or modulo by zero") }
            let remainder = left.remainderReportingOverflow(dividingBy: right).partialValue
            // The signs differ, so the sum cannot overflow.
            return .int(remainder != 0 && (remainder < 0) != (right < 0) ? remainder + right : remainder)
        default: return .double(try floatArithmetic(symbol, Double(left), Double(right)))
        }
    }

    private func exact(_ result: (partialValue: Int, overflow: Bool)) throws(TemplateError) -> Int {
        guard !result.overflow else { throw fail("the result does not fit in 64 bits", .limit) }
        return result.partialValue
    }

    private func power(_ base: Int, _ exponent: Int) throws(TemplateError) -> Int {
        var (result, factor, rest) = (1, base, exponent)
        while rest > 0 {
            if rest & 1 == 1 { result = try exact(result.multipliedReportingOverflow(by: factor)) }
            rest >>= 1
            if rest > 0 { factor = try exact(factor.multipliedReportingOverflow(by: factor)) }
        }
        return result
    }

    private func floatArithmetic(_ symbol: BinaryOperator, _ left: Double, _ right: Double) throws(TemplateError)
        -> Double
    {
        switch symbol {
        case .add: return left + right
        case .subtract: return left - right
        case .multiply: return left * right
        case .power:
            let result = pow(left, right)
            if left == 0, right < 0 { throw fail("0.0 cannot be raised to a negative power") }
            if result.isInfinite, left.isFinite, right.isFinite { throw fail("the result is out of range") }
            if result.isNaN, !left.isNaN, !right.isNaN { throw fail("the result is a complex number") }
            return result
        case .divide:
            guard right != 0 else { throw fail("division by zero") }
            return left / right
        case .floorDivide:
            guard right != 0 else { throw fail("float floor division by zero") }
            return ((left - modulo(left, right)) / right).rounded()
        case .modulo:
            guard right != 0 else { throw fail("float modulo") }
            return modulo(left, right)
        }
    }

    private func modulo(_ left: Double, _ right: Double) -> Double {
        let remainder = fmod(left, right)
        if remainder == 0 { return Double(signOf: right, magnitudeOf: 0) }
        return (remainder < 0) != (right < 0) ? remainder + right : remainder
    }

    func negate(_ value: Value) throws(TemplateError) -> Value {
        if case .double(let double) = value { return .double(-double) }
        if let int = value.integer { return .int(try exact(Int(0).subtractingReportingOverflow(int))) }
        throw unary("-", value)
    }

    func plus(_ value: Value) throws(TemplateError) -> Value {
        if case .double = value { return value }
        if let int = value.integer { return .int(int) }
        throw unary("+", value)
    }

    private func unary(_ symbol: String, _ value: Value) -> TemplateError {
        if case .undefined(let undefined) = value { return fail(undefined) }
        return fail("bad operand type for unary \(symbol): '\(value.typeName)'")
    }

    /// A float as an integer, truncated toward zero.
    func truncated(_ double: Double) throws(TemplateError) -> Int {
        guard let int = Int(exactly: double.rounded(.towardZero)) else {
            throw fail("cannot convert \(PythonText.float(double)) to a 64-bit integer")
        }
        return int
    }
}
