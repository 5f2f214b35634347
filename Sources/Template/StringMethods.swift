/// The supported methods of Python's `str`.
enum StringMethod: String, CaseIterable {
    case capitalize, casefold, center, count, endswith, expandtabs, find, format, index, isalnum, isalpha, isascii
    case isdecimal, isdigit, isidentifier, islower, isnumeric, isprintable, isspace, istitle, isupper, join, ljust
    case lower, lstrip, partition, removeprefix, removesuffix, replace, rfind, rindex, rjust, rpartition, rsplit
    case rstrip, split, splitlines, startswith, strip, swapcase, title, upper, zfill
    case formatMap = "format_map"

    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// Parameters, and the number of required ones.
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
            try renderer.charge(reading: arguments)
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
            return try list(try lines(of: text, keepingEnds: arguments[0]?.isTruthy ?? false).map { .string($0) })
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
            try charge(dict.count)
            let named = dict.entries.compactMap { key, value in key.text.map { ($0, value) } }
            return .string(try format(text, Arguments(named: named)))
        default:
            try charge(text.utf8.count)
            return .bool(classify(method, text))
        }
    }

    /// A required argument, whose presence `bind` has checked.
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

    /// Whether there are cased letters and all of them have this case.
    func isCased(_ text: String, _ isRight: KeyPath<Unicode.Scalar.Properties, Bool>) -> Bool {
        let cased = text.unicodeScalars.filter { $0.properties.isCased }
        return !cased.isEmpty && cased.allSatisfy { $0.properties[keyPath: isRight] }
    }
}

extension String {
    /// Full case folding, approximated by lowercasing the uppercased text.
    fileprivate var caseFolded: String {
        unicodeScalars.reduce(into: "") { result, scalar in
            result +=
                scalar.value < 0x80 ? scalar.properties.lowercaseMapping : String(scalar).uppercased().lowercased()
        }
    }
}
