import Foundation

/// Jinja2's built-in filters, with transformers' `tojson`.
enum JinjaFilter: String, CaseIterable {
    case abs, attr, batch, capitalize, center, count, d, dictsort, e, escape, filesizeformat, first, float
    case forceescape, format, groupby, indent, int, items, join, last, length, list, lower, map, max, min, pprint
    case random, reject, rejectattr, replace, reverse, round, safe, select, selectattr, slice, sort, string, striptags
    case sum, title, tojson, trim, truncate, unique, upper, urlencode, urlize, wordcount, wordwrap, xmlattr
    case defaultValue = "default"

    static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    /// Parameters after the value, and the number of required ones; nil if the filter handles its arguments itself.
    fileprivate var signature: (names: [String], required: Int)? {
        switch self {
        case .format, .map, .select, .reject, .selectattr, .rejectattr: nil
        case .attr: (["name"], 1)
        case .batch, .slice: (["count", "fill_with"], 1)
        case .center: (["width"], 0)
        case .d, .defaultValue: (["default_value", "boolean"], 0)
        case .dictsort: (["case_sensitive", "by", "reverse"], 0)
        case .filesizeformat: (["binary"], 0)
        case .float: (["default"], 0)
        case .groupby: (["attribute", "default", "case_sensitive"], 1)
        case .indent: (["width", "first", "blank"], 0)
        case .int: (["default", "base"], 0)
        case .join: (["d", "attribute"], 0)
        case .max, .min, .unique: (["case_sensitive", "attribute"], 0)
        case .replace: (["old", "new", "count"], 2)
        case .round: (["precision", "method"], 0)
        case .sort: (["reverse", "case_sensitive", "attribute"], 0)
        case .sum: (["attribute", "start"], 0)
        case .tojson: (["ensure_ascii", "indent", "separators", "sort_keys"], 0)
        case .trim: (["chars"], 0)
        case .truncate: (["length", "killwords", "end", "leeway"], 0)
        case .wordwrap: (["width", "break_long_words", "wrapstring", "break_on_hyphens"], 0)
        case .xmlattr: (["autospace"], 0)
        default: ([], 0)
        }
    }
}

extension Renderer {
    func apply(_ filter: JinjaFilter, to value: Value, _ arguments: Arguments) throws(TemplateError) -> Value {
        // These filters do not look at the elements, so that templates may apply them to long lists often.
        switch filter {
        case .count, .length, .d, .defaultValue, .first, .last: break
        default: try charge(reading: value)
        }
        try charge(reading: arguments)
        guard let (names, required) = filter.signature else {
            switch filter {
            case .format: return try formatFilter(value, arguments)
            case .map: return try mapFilter(value, arguments)
            default: return try selectFilter(filter, value, arguments)
            }
        }
        let bound = try arguments.bind(filter.rawValue, names, required: required, self)
        switch filter {
        case .abs, .float, .int, .round, .sum, .filesizeformat: return try numberFilter(filter, value, bound)
        case .batch, .slice, .first, .last, .list, .reverse, .items: return try sequenceFilter(filter, value, bound)
        case .dictsort, .sort, .unique, .groupby, .min, .max: return try orderFilter(filter, value, bound)
        case .count, .length: return .int(try length(of: value))
        case .d, .defaultValue:
            let isMissing = value.isUndefined || (bound[1]?.isTruthy ?? false) && !value.isTruthy
            return isMissing ? bound[0] ?? .string("") : value
        case .attr:
            let name = try string(bound[0] ?? .null, "attribute name")
            if case .undefined(let undefined) = value { throw fail(undefined) }
            return try member(name, of: value) ?? .undefined(noAttribute(name, value))
        case .tojson: return .string(try json(value, bound))
        case .random, .urlize, .pprint:
            throw fail("the filter '\(filter.rawValue)' is not available in chat templates")
        default: return try textFilter(filter, value, bound)
        }
    }

    func length(of value: Value) throws(TemplateError) -> Int {
        switch value {
        case .undefined: return 0
        case .string(let text), .markup(let text):
            try charge(bytes: text.utf8.count)
            return text.unicodeScalars.count
        case .list(let items), .tuple(let items): return items.values.count
        case .dict(let dict): return dict.count
        case .object(let object):
            if let count = object.count { return count }
        default: break
        }
        throw fail("object of type '\(value.typeName)' has no len()")
    }
}

// MARK: - Applying filters and tests to elements

extension Renderer {
    private func mapFilter(_ value: Value, _ arguments: Arguments) throws(TemplateError) -> Value {
        guard value.isTruthy else { return try generator([]) }
        let items = try iterate(value)
        var results: [Value] = []
        try charge(items.count)
        results.reserveCapacity(items.count)
        if arguments.positional.isEmpty, arguments.named.contains(where: { $0.name == "attribute" }) {
            let bound = try Arguments(named: arguments.named).bind("map", ["attribute", "default"], self)
            let path = try AttributePath(bound[0] ?? .null, self)
            for item in items { results.append(try path.get(item, missing: bound[1].given, self)) }
            return try generator(results)
        }
        guard let name = arguments.positional.first else { throw fail("map requires a filter argument") }
        let text = try string(name, "filter name")
        guard let filter = JinjaFilter.named[text] else { throw fail("no filter named '\(text)'") }
        let rest = Arguments(positional: Array(arguments.positional.dropFirst()), named: arguments.named)
        for item in items {
            try charge()
            results.append(try nested { () throws(TemplateError) in try apply(filter, to: item, rest) })
        }
        return try generator(results)
    }

    /// `select`, `reject`, `selectattr` and `rejectattr`.
    private func selectFilter(_ filter: JinjaFilter, _ value: Value, _ arguments: Arguments) throws(TemplateError)
        -> Value
    {
        guard value.isTruthy else { return try generator([]) }
        let byAttribute = filter == .selectattr || filter == .rejectattr
        let keeps = filter == .select || filter == .selectattr
        var rest = arguments
        var path: AttributePath?
        if byAttribute {
            guard !rest.positional.isEmpty else { throw fail("missing parameter for attribute name") }
            path = try AttributePath(rest.positional.removeFirst(), self)
        }
        var test: JinjaTest?
        if !rest.positional.isEmpty {
            let name = try string(rest.positional.removeFirst(), "test name")
            guard let known = JinjaTest.named[name] else { throw fail("no test named '\(name)'") }
            test = known
        }
        var kept: [Value] = []
        for item in try iterate(value) {
            try charge()
            let subject = try path?.get(item, missing: nil, self) ?? item
            let isTrue = try test.map { (test) throws(TemplateError) in try apply(test, to: subject, rest) }
            if (isTrue ?? subject.isTruthy) == keeps { kept.append(item) }
        }
        return try generator(kept)
    }
}

/// A path such as `"a.b.0"`, looked up step by step.
struct AttributePath {
    private let parts: [Value]

    init(_ path: Value, _ renderer: Renderer) throws(TemplateError) {
        guard let text = path.text else {
            parts = path.isNone ? [] : [path]
            return
        }
        try renderer.charge(text.utf8.count)
        parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { part in
            let isNumber = !part.isEmpty && part.allSatisfy { (0x30...0x39).contains($0) }
            let name = String(Substring(part))
            return isNumber ? Int(name).map { .int($0) } ?? .string(name) : .string(name)
        }
    }

    func get(_ item: Value, missing: Value?, _ renderer: Renderer) throws(TemplateError) -> Value {
        var value = item
        for part in parts {
            try renderer.charge()
            value = try renderer.item(part, of: value)
            if let missing, value.isUndefined { value = missing }
        }
        return value
    }
}
