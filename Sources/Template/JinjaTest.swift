/// Jinja2's built-in tests.
enum JinjaTest: String, CaseIterable {
    case boolean, callable, defined, divisibleby, eq, equalto, escaped, even, filter, float, ge, greaterthan, gt
    case integer, iterable, le, lessthan, lower, lt, mapping, ne, none, number, odd, sameas, sequence, string, test
    case undefined, upper
    case isTrue = "true"
    case isFalse = "false"
    case isIn = "in"
    case equalSign = "=="
    case notEqualSign = "!="
    case lessSign = "<"
    case lessOrEqualSign = "<="
    case greaterSign = ">"
    case greaterOrEqualSign = ">="

    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    fileprivate var comparator: Comparator? {
        switch self {
        case .eq, .equalto, .equalSign: .equal
        case .ne, .notEqualSign: .notEqual
        case .lt, .lessthan, .lessSign: .less
        case .le, .lessOrEqualSign: .lessOrEqual
        case .gt, .greaterthan, .greaterSign: .greater
        case .ge, .greaterOrEqualSign: .greaterOrEqual
        case .isIn: .isIn
        default: nil
        }
    }
}

extension Renderer {
    func apply(_ test: JinjaTest, to value: Value, _ arguments: Arguments) throws(TemplateError) -> Bool {
        let name = test.rawValue
        try charge(reading: arguments)
        if let comparator = test.comparator {
            let other = try arguments.bind(name, ["other"], required: 1, self)[0] ?? .null
            return try compare(comparator, value, other)
        }
        switch test {
        case .divisibleby:
            let divisor = try arguments.bind(name, ["num"], required: 1, self)[0] ?? .null
            return try areEqual(try binary(.modulo, value, divisor), .int(0))
        case .sameas:
            let other = try arguments.bind(name, ["other"], required: 1, self)[0] ?? .null
            return isSame(value, other)
        default:
            try arguments.rejectAll(name, self)
            return try apply(test, to: value)
        }
    }

    private func apply(_ test: JinjaTest, to value: Value) throws(TemplateError) -> Bool {
        switch test {
        case .defined: return !value.isUndefined
        case .undefined: return value.isUndefined
        case .none: return value.isNone
        case .boolean: if case .bool = value { return true }
        case .isTrue: if case .bool(true) = value { return true }
        case .isFalse: if case .bool(false) = value { return true }
        case .integer: if case .int = value { return true }
        case .float: if case .double = value { return true }
        case .number: return value.number != nil
        case .string: return value.text != nil
        case .mapping: if case .dict = value { return true }
        case .sequence: return isSequence(value)
        case .iterable: return isIterable(value)
        case .callable:
            if case .object(let object) = value { return object.isCallable }
            // Jinja2's undefined has a `__call__`, which raises.
            return value.isUndefined
        case .escaped: if case .markup = value { return true }
        case .odd: return try areEqual(try binary(.modulo, value, .int(2)), .int(1))
        case .even: return try areEqual(try binary(.modulo, value, .int(2)), .int(0))
        case .lower, .upper:
            let text = try string(value)
            try charge(text.utf8.count)
            return isCased(text, test == .lower ? \.isLowercase : \.isUppercase)
        case .filter, .test:
            guard try isHashable(value) else { throw fail("unhashable type: '\(value.typeName)'") }
            guard let name = value.text else { return false }
            return test == .filter ? JinjaFilter.named[name] != nil : JinjaTest.named[name] != nil
        default: throw fail("no test named '\(test.rawValue)'")
        }
        return false
    }

    private func isSequence(_ value: Value) -> Bool {
        switch value {
        case .string, .markup, .list, .tuple, .dict: true
        case .object(let object): object is RangeObject || object is Group
        // Jinja2's undefined has a length, and looking up `__getitem__` does not raise.
        case .undefined: true
        default: false
        }
    }

    private func isIterable(_ value: Value) -> Bool {
        switch value {
        case .string, .markup, .list, .tuple, .dict, .undefined: true
        case .object(let object):
            object is RangeObject || object is Generator || object is DictView || object is Group
                || object is LoopObject
        default: false
        }
    }

    /// Python's `is`, which for small values is equality.
    private func isSame(_ left: Value, _ right: Value) -> Bool {
        switch (left, right) {
        case (.list(let left), .list(let right)), (.tuple(let left), .tuple(let right)): left === right
        case (.dict(let left), .dict(let right)): left === right
        case (.object(let left), .object(let right)): left === right
        case (.string, .string):
            left.text.map { $0.utf8.count } == right.text.map { $0.utf8.count } && left.equals(right)
        case (.int, .int), (.bool, .bool), (.null, .null): left.equals(right)
        default: false
        }
    }
}
