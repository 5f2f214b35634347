import Foundation

// MARK: - Numbers

extension Renderer {
    func numberFilter(_ filter: Filter, _ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        switch filter {
        case .abs: return try absolute(value)
        case .int: return try toInt(value, arguments)
        case .float: return try toFloat(value) ?? arguments[0] ?? .double(0)
        case .round: return try round(value, arguments)
        case .filesizeformat: return .string(try fileSize(value, binary: arguments[0]?.isTruthy ?? false))
        default: return try sum(value, arguments)
        }
    }

    private func absolute(_ value: Value) throws(TemplateError) -> Value {
        if case .double(let double) = value { return .double(Swift.abs(double)) }
        if case .undefined(let undefined) = value { throw fail(undefined) }
        guard let int = value.integer else { throw fail("bad operand type for abs(): '\(value.typeName)'") }
        return int < 0 ? try negate(.int(int)) : .int(int)
    }

    private func toInt(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let base = try integer(arguments[1] ?? .int(10), "base")
        let fallback = arguments[0] ?? .int(0)
        if let int = value.integer { return .int(int) }
        if case .undefined(let undefined) = value { throw fail(undefined) }
        if case .double(let double) = value {
            return double.isFinite ? .int(try truncated(double)) : fallback
        }
        guard let text = value.text else { return fallback }
        if let int = NumberText.int(text, base: base) { return .int(int) }
        guard let double = NumberText.float(text), double.isFinite else { return fallback }
        return .int(try truncated(double))
    }

    private func toFloat(_ value: Value) throws(TemplateError) -> Value? {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        return (value.number ?? value.text.flatMap(NumberText.float)).map { .double($0) }
    }

    private func round(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        let precision = try integer(arguments[0] ?? .int(0), "precision")
        let method = try string(arguments[1] ?? .string("common"), "method")
        guard let number = value.number else {
            throw fail("type \(value.typeName) doesn't define __round__ method")
        }
        switch method {
        case "common":
            if let int = value.integer {
                if precision >= 0 { return .int(int) }
                return .int(try truncated(PythonNumber.rounded(number, precision)))
            }
            return .double(PythonNumber.rounded(number, precision))
        case "ceil", "floor":
            let factor = pow(10.0, Double(precision))
            let scaled = number * factor
            let whole = method == "ceil" ? scaled.rounded(.up) : scaled.rounded(.down)
            guard whole.isFinite, factor != 0 else { throw fail("cannot convert the number to an integer") }
            return .double(whole / factor)
        default: throw fail("method must be common, ceil or floor")
        }
    }

    private func fileSize(_ value: Value, binary: Bool) throws(TemplateError) -> String {
        guard case .double(let bytes)? = try toFloat(value) else { throw fail("could not convert to a size") }
        let base = binary ? 1024.0 : 1000.0
        if bytes == 1 { return "1 Byte" }
        if bytes < base { return "\(try truncated(bytes)) Bytes" }
        let prefixes = ["k", "M", "G", "T", "P", "E", "Z", "Y"]
        var unit = base
        for (index, prefix) in prefixes.enumerated() {
            unit *= base
            guard bytes < unit || index == prefixes.count - 1 else { continue }
            let name = binary ? prefix.uppercased() + "iB" : prefix + "B"
            return "\(PythonNumber.fixed(base * bytes / unit, 1)) \(name)"
        }
        return ""
    }

    private func sum(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        var items = try iterate(value)
        if let attribute = arguments[0].given {
            let path = try AttributePath(attribute, self)
            items = try items.map { (item) throws(TemplateError) in try path.get(item, missing: nil, self) }
        }
        var sum = arguments[1] ?? .int(0)
        guard sum.text == nil else { throw fail("sum() can't sum strings [use ''.join(seq) instead]") }
        for item in items { sum = try binary(.add, sum, item) }
        return sum
    }
}

enum NumberText {
    /// Python's `int(text, base)`.
    static func int(_ text: String, base: Int) -> Int? {
        var digits = text.unicodeScalars.drop(while: \.isPythonSpace)
        while let last = digits.last, last.isPythonSpace { digits.removeLast() }
        var sign = ""
        if let first = digits.first, first == "-" || first == "+" {
            sign = first == "-" ? "-" : ""
            digits.removeFirst()
        }
        var radix = base
        if digits.first == "0", let letter = digits.dropFirst().first {
            let prefix = ["x": 16, "o": 8, "b": 2][String(letter).lowercased()]
            if let prefix, base == prefix || base == 0 {
                radix = prefix
                digits = digits.dropFirst(2)
                if digits.first == "_" { digits.removeFirst() }
            }
        }
        if radix == 0 { radix = 10 }
        let plain = String(digits)
        guard (2...36).contains(radix), isGrouped(plain), plain.first != "+", plain.first != "-" else { return nil }
        return Int(sign + plain.filter { $0 != "_" }, radix: radix)
    }

    /// Python's `float(text)`.
    static func float(_ text: String) -> Double? {
        let trimmed = text.dropping(while: \.isPythonSpace).droppingLast(while: \.isPythonSpace)
        switch trimmed.lowercased() {
        case "inf", "+inf", "infinity", "+infinity": return .infinity
        case "-inf", "-infinity": return -.infinity
        case "nan", "+nan", "-nan": return .nan
        default: break
        }
        // `Double` also reads hexadecimal floats, which Python does not.
        guard isGrouped(trimmed), trimmed.utf8.allSatisfy({ "0123456789+-.eE_".utf8.contains($0) }) else { return nil }
        let plain = trimmed.filter { $0 != "_" }
        if let value = Double(plain) { return value }
        // Python takes "1." and ".5" too.
        if plain.hasSuffix(".") { return Double(plain + "0") }
        return plain.utf8.contains(UInt8(ascii: "."))
            ? Double(plain.replacingOccurrences(of: ".", with: "0.", options: .anchored)) : nil
    }

    /// Whether each underscore stands between digits.
    private static func isGrouped(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let underscore = UInt8(ascii: "_")
        func isDigit(_ at: Int) -> Bool { bytes.indices.contains(at) && bytes[at] != underscore }
        return !bytes.isEmpty
            && bytes.indices.allSatisfy { bytes[$0] != underscore || isDigit($0 - 1) && isDigit($0 + 1) }
    }
}

enum PythonNumber {
    /// Python's `round(number, digits)`: correctly rounded on the exact value, ties to even.
    static func rounded(_ value: Double, _ digits: Int) -> Double {
        guard value.isFinite, digits <= 22 else { return value }
        if digits < 0 {
            guard digits > -309 else { return Double(signOf: value, magnitudeOf: 0) }
            let unit = pow(10.0, Double(-digits))
            return (value / unit).rounded(.toNearestOrEven) * unit
        }
        return Double(fixed(value, digits)) ?? value
    }

    /// `%.Nf`.
    static func fixed(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}

// MARK: - Sequences

extension Renderer {
    func sequenceFilter(_ filter: Filter, _ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        switch filter {
        case .first:
            if case .object(let generator as Generator) = value { return generator.next() ?? missing("first") }
            if let text = value.text {
                return text.unicodeScalars.first.map { .string(String($0)) } ?? missing("first")
            }
            return try iterate(value).first ?? missing("first")
        case .last:
            if case .object(is Generator) = value { throw fail("'generator' object is not reversible") }
            if let text = value.text { return text.unicodeScalars.last.map { .string(String($0)) } ?? missing("last") }
            return try iterate(value).last ?? missing("last")
        case .list: return try list(try iterate(value))
        case .items:
            if value.isUndefined { return try generator([]) }
            guard case .dict(let dict) = value else { throw fail("Can only get item pairs from a mapping.") }
            return try generator(dict.entries.map { .tuple(Items([$0, $1])) })
        case .reverse:
            if let text = value.text { return .string(String(Array(text.unicodeScalars.reversed()))) }
            let reversed = Array(try iterate(value).reversed())
            if case .object(is Generator) = value { return try list(reversed) }
            return try generator(reversed)
        case .batch: return try batch(value, arguments)
        default: return try sliceFilter(value, arguments)
        }
    }

    private func missing(_ which: String) -> Value {
        .undefined(Undefined("No \(which) item, sequence was empty."))
    }

    private func batch(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let count = try integer(arguments[0] ?? .null, "linecount")
        let items = try iterate(value)
        var batches: [Value] = []
        var current: [Value] = []
        for item in items {
            if current.count == count {
                batches.append(try list(current))
                current = []
            }
            current.append(item)
        }
        if !current.isEmpty {
            if let filler = arguments[1].given, current.count < count {
                guard count <= Renderer.maximumWeight else { throw fail("the batch is too long", .limit) }
                current += repeatElement(filler, count: count - current.count)
            }
            batches.append(try list(current))
        }
        return try generator(batches)
    }

    private func sliceFilter(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let count = try integer(arguments[0] ?? .null, "slices")
        let items = try iterate(value)
        guard count != 0 else { throw fail("integer division or modulo by zero") }
        guard count > 0 else { return try generator([]) }
        try charge(count)
        let (size, extra) = items.count.quotientAndRemainder(dividingBy: count)
        var slices: [Value] = []
        var start = 0
        for index in 0..<count {
            let end = start + size + (index < extra ? 1 : 0)
            var slice = Array(items[start..<end])
            if let filler = arguments[1].given, index >= extra { slice.append(filler) }
            slices.append(try list(slice))
            start = end
        }
        return try generator(slices)
    }
}

// MARK: - Order

extension Renderer {
    func orderFilter(_ filter: Filter, _ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        switch filter {
        case .dictsort: return try dictSort(value, arguments)
        case .sort:
            let foldsCase = !(arguments[1]?.isTruthy ?? false)
            let paths = try sortPaths(arguments[2].given)
            let keyed = try keyed(try iterate(value)) { (item) throws(TemplateError) in
                var keys: [Value] = []
                for path in paths { keys.append(fold(try path.get(item, missing: nil, self), foldsCase)) }
                return .list(Items(keys))
            }
            return try list(try sorted(keyed, reverse: arguments[0]?.isTruthy ?? false).map(\.item))
        case .unique: return try unique(value, arguments)
        case .groupby: return try groupBy(value, arguments)
        default: return try extreme(value, arguments, isMaximum: filter == .max)
        }
    }

    private typealias Keyed = (key: Value, item: Value)

    private func keyed(
        _ items: [Value], _ key: (Value) throws(TemplateError) -> Value
    ) throws(TemplateError) -> [Keyed] {
        var result: [Keyed] = []
        result.reserveCapacity(items.count)
        for item in items { result.append((try key(item), item)) }
        return result
    }

    /// Strings in lower case unless case matters.
    private func fold(_ value: Value, _ foldsCase: Bool) -> Value {
        guard foldsCase, let text = value.text else { return value }
        return .string(text.loweredScalars)
    }

    private func sortPaths(_ attribute: Value?) throws(TemplateError) -> [AttributePath] {
        guard let text = attribute?.text else { return [try AttributePath(attribute ?? .null, self)] }
        let names = text.split(separator: ",", omittingEmptySubsequences: false)
        return try names.map { (name) throws(TemplateError) in try AttributePath(.string(String(name)), self) }
    }

    /// A stable merge sort, since comparing can fail.
    private func sorted(_ items: [Keyed], reverse: Bool) throws(TemplateError) -> [Keyed] {
        var items = items
        var width = 1
        while width < items.count {
            var merged: [Keyed] = []
            merged.reserveCapacity(items.count)
            for start in stride(from: 0, to: items.count, by: 2 * width) {
                let middle = min(start + width, items.count)
                let end = min(start + 2 * width, items.count)
                var (left, right) = (start, middle)
                while left < middle, right < end {
                    try charge()
                    let order = try order(items[right].key, items[left].key) ?? 0
                    if reverse ? order > 0 : order < 0 {
                        merged.append(items[right])
                        right += 1
                    } else {
                        merged.append(items[left])
                        left += 1
                    }
                }
                merged += items[left..<middle] + items[right..<end]
            }
            items = merged
            width *= 2
        }
        return items
    }

    private func dictSort(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        guard case .dict(let dict) = value else { throw fail("dictsort needs a mapping, not \(value.typeName)") }
        let foldsCase = !(arguments[0]?.isTruthy ?? false)
        let by = try string(arguments[1] ?? .string("key"), "by")
        guard by == "key" || by == "value" else { throw fail("you can only sort by either \"key\" or \"value\"") }
        let items: [Keyed] = dict.entries.map { key, value in
            (fold(by == "key" ? key : value, foldsCase), .tuple(Items([key, value])))
        }
        return try list(try sorted(items, reverse: arguments[2]?.isTruthy ?? false).map(\.item))
    }

    private func unique(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let path = try AttributePath(arguments[1] ?? .null, self)
        let foldsCase = !(arguments[0]?.isTruthy ?? false)
        var seen: Set<HashedKey> = []
        var kept: [Value] = []
        for item in try iterate(value) {
            let key = fold(try path.get(item, missing: nil, self), foldsCase)
            guard key.isHashable else { throw fail("unhashable type: '\(key.typeName)'") }
            try charge(key.extent.weight)
            if seen.insert(HashedKey(key)).inserted { kept.append(item) }
        }
        return try generator(kept)
    }

    private func groupBy(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let path = try AttributePath(arguments[0] ?? .null, self)
        let missing = arguments[1].given
        let foldsCase = !(arguments[2]?.isTruthy ?? false)
        let items = try keyed(try iterate(value)) { (item) throws(TemplateError) in
            fold(try path.get(item, missing: missing, self), foldsCase)
        }
        var groups: [(key: Value, items: [Value])] = []
        for (key, item) in try sorted(items, reverse: false) {
            if let last = groups.last, try areEqual(last.key, key) {
                groups[groups.count - 1].items.append(item)
            } else {
                groups.append((key, [item]))
            }
        }
        var result: [Value] = []
        for group in groups {
            let grouper = try path.get(group.items[0], missing: missing, self)
            result.append(try object(Group(grouper: grouper, list: try list(group.items))))
        }
        return try list(result)
    }

    private func extreme(_ value: Value, _ arguments: [Value?], isMaximum: Bool) throws(TemplateError) -> Value {
        let path = try AttributePath(arguments[1] ?? .null, self)
        let foldsCase = !(arguments[0]?.isTruthy ?? false)
        var best: Keyed?
        for item in try iterate(value) {
            let key = fold(try path.get(item, missing: nil, self), foldsCase)
            guard let current = best else {
                best = (key, item)
                continue
            }
            let order = try order(key, current.key) ?? 0
            if isMaximum ? order > 0 : order < 0 { best = (key, item) }
        }
        return best?.item ?? .undefined(Undefined("No aggregated item, sequence was empty."))
    }
}
