extension Renderer {
    func compare(_ comparator: Comparator, _ left: Value, _ right: Value) throws(TemplateError) -> Bool {
        switch comparator {
        case .equal: try areEqual(left, right)
        case .notEqual: !(try areEqual(left, right))
        case .less: try isOrdered(left, right, "<") { $0 < 0 }
        case .lessOrEqual: try isOrdered(left, right, "<=") { $0 <= 0 }
        case .greater: try isOrdered(left, right, ">") { $0 > 0 }
        case .greaterOrEqual: try isOrdered(left, right, ">=") { $0 >= 0 }
        case .isIn: try contains(right, left)
        case .notIn: !(try contains(right, left))
        }
    }

    private func isOrdered(
        _ left: Value, _ right: Value, _ symbol: String, _ test: (Int) -> Bool
    ) throws(TemplateError) -> Bool {
        guard let order = try order(left, right, symbol) else { return false }
        return test(order)
    }

    /// Negative, zero or positive; nil if a NaN makes every comparison false.
    func order(_ left: Value, _ right: Value, _ symbol: String = "<") throws(TemplateError) -> Int? {
        try charge()
        if let left = left.text, let right = right.text {
            try charge(bytes: min(left.utf8.count, right.utf8.count))
            // The order of UTF-8 bytes is the order of code points.
            return left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : left.hasSameScalars(as: right) ? 0 : 1
        }
        if let left = left.integer, let right = right.integer { return left < right ? -1 : left == right ? 0 : 1 }
        if let left = left.number, let right = right.number {
            return left < right ? -1 : left == right ? 0 : left > right ? 1 : nil
        }
        switch (left, right) {
        case (.list(let left), .list(let right)), (.tuple(let left), .tuple(let right)):
            for (left, right) in zip(left.values, right.values) where !(try areEqual(left, right)) {
                return try nested { () throws(TemplateError) in try order(left, right, symbol) }
            }
            return left.values.count - right.values.count
        case (.undefined(let undefined), _), (_, .undefined(let undefined)): throw fail(undefined)
        default:
            throw fail(
                "'\(symbol)' not supported between instances of '\(left.typeName)' and '\(right.typeName)'")
        }
    }

    func contains(_ container: Value, _ element: Value) throws(TemplateError) -> Bool {
        switch container {
        case .string(let text), .markup(let text):
            if case .undefined(let undefined) = element { throw fail(undefined) }
            guard let part = element.text else {
                throw fail("'in <string>' requires string as left operand, not \(element.typeName)")
            }
            try charge(bytes: text.utf8.count + part.utf8.count)
            return text.firstRange(ofScalars: part) != nil
        case .dict(let dict):
            guard try isHashable(element) else { throw fail("unhashable type: '\(element.typeName)'") }
            return dict[element] != nil
        case .undefined: return false
        default:
            for candidate in try iterate(container, orFail: "argument of type '\(container.typeName)' is not iterable")
            where try areEqual(candidate, element) {
                return true
            }
            return false
        }
    }

    /// The elements for a `for` loop.
    func iterate(_ value: Value, orFail message: String? = nil) throws(TemplateError) -> [Value] {
        guard let values = try elements(of: value) else {
            throw fail(message ?? "'\(value.typeName)' object is not iterable")
        }
        return values
    }

    /// nil if the value is not iterable.
    func elements(of value: Value) throws(TemplateError) -> [Value]? {
        switch value {
        case .undefined: return []
        case .list(let items), .tuple(let items): return items.values
        case .dict(let dict): return dict.keys
        case .string(let text), .markup(let text):
            guard text.unicodeScalars.prefix(Renderer.maximumWeight + 1).count <= Renderer.maximumWeight else {
                throw fail("the text has too many characters to go through", .limit)
            }
            try charge(text.utf8.count)
            return text.unicodeScalars.map { .string(String($0)) }
        case .object(let object): return object.iterate()
        default: return nil
        }
    }
}
