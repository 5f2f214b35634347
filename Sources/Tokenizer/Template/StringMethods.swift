/// The methods of Python's `str` that chat templates can call.
enum StringMethod: String, CaseIterable {
    case capitalize, casefold, center, count, endswith, expandtabs, find, format, index, isalnum, isalpha, isascii
    case isdecimal, isdigit, isidentifier, islower, isnumeric, isprintable, isspace, istitle, isupper, join, ljust
    case lower, lstrip, partition, removeprefix, removesuffix, replace, rfind, rindex, rjust, rpartition, rsplit
    case rstrip, split, splitlines, startswith, strip, swapcase, title, upper, zfill
    case formatMap = "format_map"

    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// The parameters, and how many are required.
    fileprivate var signature: (names: [String], required: Int) {
        switch self {
        case .center, .ljust, .rjust: (["width", "fillchar"], 1)
        case .count, .find, .index, .rfind, .rindex: (["sub", "start", "end"], 1)
        case .endswith, .startswith: (["affix", "start", "end"], 1)
        case .expandtabs: (["tabsize"], 0)
        case .join: (["iterable"], 1)
        case .lstrip, .rstrip, .strip: (["chars"], 0)
        case .partition, .rpartition: (["sep"], 1)
        case .removeprefix, .removesuffix: (["affix"], 1)
        case .replace: (["old", "new", "count"], 2)
        case .rsplit, .split: (["sep", "maxsplit"], 0)
        case .splitlines: (["keepends"], 0)
        case .zfill: (["width"], 1)
        case .formatMap: (["mapping"], 1)
        default: ([], 0)
        }
    }
}

extension Renderer {
    func stringMethod(_ name: String, _ text: String) throws(TemplateError) -> Value? {
        guard let method = StringMethod.named[name] else { return nil }
        return function(name) { (arguments, renderer) throws(TemplateError) in
            try renderer.charge(bytes: text.utf8.count)
            if method == .format { return .string(try renderer.format(text, arguments)) }
            let (names, required) = method.signature
            let bound = try arguments.bind(name, names, required: required, renderer)
            return try renderer.call(method, on: text, bound)
        }
    }

    private func call(_ method: StringMethod, on text: String, _ arguments: [Value?]) throws(TemplateError) -> Value {
        switch method {
        case .lower, .upper, .casefold, .capitalize, .title, .swapcase:
            if method != .lower, method != .upper { try charge(text.utf8.count) }  // scalar by scalar
            return .string(changeCase(method, text))
        case .strip, .lstrip, .rstrip:
            return .string(try strip(text, arguments[0], leading: method != .rstrip, trailing: method != .lstrip))
        case .split, .rsplit: return try split(text, arguments, fromEnd: method == .rsplit)
        case .splitlines:
            return try list(text.pythonLines(keepingEnds: arguments[0]?.isTruthy ?? false).map { .string($0) })
        case .partition, .rpartition: return try partition(text, arguments[0], fromEnd: method == .rpartition)
        case .startswith, .endswith: return .bool(try hasAffix(method, text, arguments))
        case .find, .rfind, .index, .rindex, .count: return .int(try search(method, text, arguments))
        case .replace:
            let count = try arguments[2].map { (value) throws(TemplateError) in try integer(value, "count") }
            return .string(
                try replace(
                    text, try string(argument(arguments, 0), "old"), try string(argument(arguments, 1), "new"),
                    count ?? -1))
        case .removeprefix, .removesuffix:
            let affix = try string(argument(arguments, 0), "affix")
            let isThere = method == .removeprefix ? text.starts(withScalars: affix) : text.ends(withScalars: affix)
            guard isThere else { return .string(text) }
            let bytes =
                method == .removeprefix
                ? text.utf8.dropFirst(affix.utf8.count) : text.utf8.dropLast(affix.utf8.count)
            return .string(String(Substring(bytes)))
        case .join: return .string(try join(try iterate(argument(arguments, 0)), text, onlyStrings: true))
        case .center, .ljust, .rjust: return .string(try justify(method, text, arguments))
        case .zfill:
            let width = try integer(argument(arguments, 0), "width")
            return .string(try zeroFilled(text, width))
        case .expandtabs: return .string(try expandTabs(text, try arguments[0].map(tabSize) ?? 8))
        case .formatMap:
            guard case .dict(let dict) = argument(arguments, 0) else { throw fail("format_map() needs a mapping") }
            let named = dict.entries.compactMap { key, value in key.text.map { ($0, value) } }
            return .string(try format(text, Arguments(named: named)))
        default:
            try charge(text.utf8.count)
            return .bool(classify(method, text))
        }
    }

    /// A required argument, which `bind` has checked to be there.
    private func argument(_ arguments: [Value?], _ index: Int) -> Value { arguments[index] ?? .null }

    private func tabSize(_ value: Value) throws(TemplateError) -> Int { try integer(value, "tabsize") }
}

// MARK: - Case and classes

extension Renderer {
    func changeCase(_ method: StringMethod, _ text: String) -> String {
        switch method {
        case .lower: text.loweredScalars
        case .upper: text.uppercased()
        case .casefold: text.caseFolded
        case .capitalize: text.capitalizedScalars
        case .title: text.titledScalars
        default:
            text.unicodeScalars.reduce(into: "") { result, scalar in
                let properties = scalar.properties
                result += properties.isUppercase ? properties.lowercaseMapping : properties.uppercaseMapping
            }
        }
    }

    private func classify(_ method: StringMethod, _ text: String) -> Bool {
        let scalars = text.unicodeScalars
        func all(_ test: (Unicode.Scalar) -> Bool) -> Bool { !scalars.isEmpty && scalars.allSatisfy(test) }
        return switch method {
        case .isalnum: all(\.isPythonAlphanumeric)
        case .isalpha: all(\.isPythonAlpha)
        case .isascii: text.utf8.allSatisfy { $0 < 0x80 }
        case .isdecimal: all { $0.properties.numericType == .decimal }
        case .isdigit: all(\.isPythonDigit)
        case .isnumeric: all { $0.properties.numericType != nil }
        case .isidentifier:
            all(\.isIdentifierPart) && scalars.first.map { $0 == "_" || $0.properties.isXIDStart } ?? false
        case .islower: isCased(text, \.isLowercase)
        case .isupper: isCased(text, \.isUppercase)
        case .isprintable: scalars.allSatisfy(PythonText.isPrintable)
        case .isspace: all(\.isPythonSpace)
        default: scalars.contains { $0.properties.isCased } && text.titledScalars.hasSameScalars(as: text)
        }
    }

    /// Whether there are cased letters and all have this case.
    func isCased(_ text: String, _ isRight: KeyPath<Unicode.Scalar.Properties, Bool>) -> Bool {
        let cased = text.unicodeScalars.filter { $0.properties.isCased }
        return !cased.isEmpty && cased.allSatisfy { $0.properties[keyPath: isRight] }
    }
}

extension String {
    /// Full case folding, as far as lowering what was raised gives it.
    fileprivate var caseFolded: String {
        unicodeScalars.reduce(into: "") { result, scalar in
            result +=
                scalar.value < 0x80 ? scalar.properties.lowercaseMapping : String(scalar).uppercased().lowercased()
        }
    }
}

// MARK: - Cutting

extension Renderer {
    func strip(_ text: String, _ chars: Value?, leading: Bool, trailing: Bool) throws(TemplateError) -> String {
        let set = try chars.given.map { (chars) throws(TemplateError) in
            Set(try string(chars, "strip argument").unicodeScalars)
        }
        func isStripped(_ scalar: Unicode.Scalar) -> Bool { set?.contains(scalar) ?? scalar.isPythonSpace }
        let text = leading ? text.dropping(while: isStripped) : text
        return trailing ? text.droppingLast(while: isStripped) : text
    }

    private func split(_ text: String, _ arguments: [Value?], fromEnd: Bool) throws(TemplateError) -> Value {
        let limit = try arguments[1].map { (value) throws(TemplateError) in try integer(value, "maxsplit") } ?? -1
        let most = limit < 0 ? Int.max : limit
        guard let separator = arguments[0].given else {
            let words = fromEnd ? lastWords(text, most) : firstWords(text, most)
            return try list(words.map { .string($0) })
        }
        let sep = try string(separator, "separator")
        guard !sep.isEmpty else { throw fail("empty separator") }
        let ranges = fromEnd ? text.lastRanges(ofScalars: sep, limit: most) : text.ranges(ofScalars: sep, limit: most)
        var parts: [Value] = []
        var start = text.startIndex
        for range in ranges {
            parts.append(.string(String(text.unicodeScalars[start..<range.lowerBound])))
            start = range.upperBound
        }
        parts.append(.string(String(text.unicodeScalars[start...])))
        return try list(parts)
    }

    private func firstWords(_ text: String, _ limit: Int) -> [String] {
        var words: [String] = []
        var rest = text.unicodeScalars[...].drop(while: \.isPythonSpace)
        while !rest.isEmpty {
            if words.count == limit {
                words.append(String(rest))
                break
            }
            let end = rest.firstIndex(where: \.isPythonSpace) ?? rest.endIndex
            words.append(String(rest[..<end]))
            rest = rest[end...].drop(while: \.isPythonSpace)
        }
        return words
    }

    private func lastWords(_ text: String, _ limit: Int) -> [String] {
        var words: [String] = []
        var rest = text.unicodeScalars[...]
        func dropBlanks() {
            while let last = rest.last, last.isPythonSpace { rest.removeLast() }
        }
        dropBlanks()
        while !rest.isEmpty {
            if words.count == limit {
                words.append(String(rest))
                break
            }
            let start = rest.lastIndex(where: \.isPythonSpace).map { rest.index(after: $0) } ?? rest.startIndex
            words.append(String(rest[start...]))
            rest = rest[..<start]
            dropBlanks()
        }
        return words.reversed()
    }

    private func partition(_ text: String, _ separator: Value?, fromEnd: Bool) throws(TemplateError) -> Value {
        let sep = try string(separator ?? .null, "separator")
        guard !sep.isEmpty else { throw fail("empty separator") }
        let range = fromEnd ? text.lastRanges(ofScalars: sep, limit: 1).first : text.firstRange(ofScalars: sep)
        guard let range else {
            let parts = fromEnd ? ["", "", text] : [text, "", ""]
            return try tuple(parts.map { .string($0) })
        }
        let scalars = text.unicodeScalars
        return try tuple([
            .string(String(scalars[..<range.lowerBound])), .string(sep), .string(String(scalars[range.upperBound...])),
        ])
    }
}

// MARK: - Searching and replacing

extension Renderer {
    private func hasAffix(_ method: StringMethod, _ text: String, _ arguments: [Value?]) throws(TemplateError) -> Bool {
        let part = try window(text, arguments)?.text
        let affixes: [Value]
        if case .tuple(let items) = arguments[0] { affixes = items.values } else { affixes = [arguments[0] ?? .null] }
        for affix in affixes {
            let affix = try string(affix, "\(method.rawValue) first arg")
            guard let part else { continue }
            if method == .startswith ? part.starts(withScalars: affix) : part.ends(withScalars: affix) { return true }
        }
        return false
    }

    /// The part between `start` and `end`, and how many scalars come before it; nil where it starts after the end.
    private func window(_ text: String, _ arguments: [Value?]) throws(TemplateError) -> (text: String, offset: Int)? {
        guard arguments[1].given != nil || arguments[2].given != nil else { return (text, 0) }
        let scalars = text.unicodeScalars
        let count = scalars.count
        func bound(_ value: Value?, _ missing: Int) throws(TemplateError) -> Int {
            guard let value = value.given else { return missing }
            let bound = try integer(value, "slice index")
            return bound < 0 ? max(bound + count, 0) : bound
        }
        let start = try bound(arguments[1], 0)
        let end = min(try bound(arguments[2], count), count)
        guard start <= end else { return nil }
        return (String(scalars[scalars.position(start)..<scalars.position(end)]), start)
    }

    private func search(_ method: StringMethod, _ text: String, _ arguments: [Value?]) throws(TemplateError) -> Int {
        let part = try string(arguments[0] ?? .null, "substring")
        let window = try window(text, arguments)
        if method == .count {
            guard let window else { return 0 }
            if part.isEmpty { return window.text.unicodeScalars.count + 1 }
            return window.text.ranges(ofScalars: part).count
        }
        let isFromEnd = method == .rfind || method == .rindex
        if let (text, offset) = window {
            let found = isFromEnd ? text.lastRanges(ofScalars: part, limit: 1).first : text.firstRange(ofScalars: part)
            if let found { return offset + text.unicodeScalars.distance(from: text.startIndex, to: found.lowerBound) }
        }
        if method == .index || method == .rindex { throw fail("substring not found") }
        return -1
    }

    func replace(_ text: String, _ old: String, _ new: String, _ count: Int) throws(TemplateError) -> String {
        try charge(bytes: text.utf8.count)
        let limit = count < 0 ? Int.max : count
        if old.isEmpty { return try interleave(text, new, limit) }
        let ranges = text.ranges(ofScalars: old, limit: limit)
        if ranges.isEmpty { return text }
        try chargeGrowth(text.utf8.count, new.utf8.count, times: ranges.count)
        var result = ""
        var start = text.startIndex
        for range in ranges {
            result.unicodeScalars += text.unicodeScalars[start..<range.lowerBound]
            result += new
            start = range.upperBound
        }
        result.unicodeScalars += text.unicodeScalars[start...]
        return result
    }

    /// Replacing nothing puts `new` around every scalar.
    private func interleave(_ text: String, _ new: String, _ limit: Int) throws(TemplateError) -> String {
        try chargeGrowth(text.utf8.count, new.utf8.count, times: min(limit, text.utf8.count + 1))
        var result = ""
        var left = limit
        for scalar in text.unicodeScalars {
            if left > 0 { result += new }
            left = max(left - 1, 0)
            result.unicodeScalars.append(scalar)
        }
        return left > 0 ? result + new : result
    }

    private func chargeGrowth(_ size: Int, _ piece: Int, times: Int) throws(TemplateError) {
        let (growth, overflow) = piece.multipliedReportingOverflow(by: times)
        guard !overflow, growth <= limits.outputBytes - min(size, limits.outputBytes) else {
            throw fail("the template builds a text of more than \(limits.outputBytes) bytes", .limit)
        }
        try charge(times)
        try charge(bytes: size + growth)
    }

    func join(_ values: [Value], _ separator: String, onlyStrings: Bool) throws(TemplateError) -> String {
        var result = ""
        for (index, value) in values.enumerated() {
            if onlyStrings, value.text == nil {
                throw fail("sequence item \(index): expected str instance, \(value.typeName) found")
            }
            let piece = try string(value)
            try charge(bytes: piece.utf8.count + separator.utf8.count)
            if index > 0 { result += separator }
            result += piece
            _ = try checked(result)
        }
        return result
    }
}

// MARK: - Padding

extension Renderer {
    private func justify(_ method: StringMethod, _ text: String, _ arguments: [Value?]) throws(TemplateError) -> String
    {
        let width = try integer(arguments[0] ?? .null, "width")
        let fill = try arguments[1].map { (value) throws(TemplateError) in try string(value, "fill character") } ?? " "
        guard fill.unicodeScalars.count == 1 else {
            throw fail("the fill character must be exactly one character long")
        }
        return try pad(text, to: width, with: fill, method)
    }

    func pad(
        _ text: String, to width: Int, with fill: String, _ method: StringMethod
    ) throws(TemplateError) -> String {
        let missing = width.subtractingReportingOverflow(text.unicodeScalars.count)
        guard !missing.overflow, missing.partialValue > 0 else { return text }
        let total = missing.partialValue
        // CPython's rounding: an odd blank goes left where the width is odd too.
        let left =
            switch method {
            case .ljust: 0
            case .rjust: total
            default: total / 2 + (total & width & 1)
            }
        let padding = try repeated(fill, left)
        return try checked(padding + text + repeated(fill, total - left))
    }

    func zeroFilled(_ text: String, _ width: Int) throws(TemplateError) -> String {
        guard let sign = text.unicodeScalars.first, sign == "+" || sign == "-" else {
            return try pad(text, to: width, with: "0", .rjust)
        }
        return String(sign)
            + (try pad(String(text.unicodeScalars.dropFirst()), to: max(width, 1) - 1, with: "0", .rjust))
    }

    private func expandTabs(_ text: String, _ size: Int) throws(TemplateError) -> String {
        var result = ""
        var column = 0
        for scalar in text.unicodeScalars {
            if scalar == "\t" {
                let blanks = size > 0 ? size - column % size : 0
                result += try repeated(" ", blanks)
                // At most `size` more than the text is long.
                column = size > 0 ? 0 : column
                _ = try checked(result)
            } else {
                result.unicodeScalars.append(scalar)
                column = scalar == "\n" || scalar == "\r" ? 0 : column + 1
            }
        }
        return result
    }
}
