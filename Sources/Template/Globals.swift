// The global functions of chat templates.
extension Renderer {
    /// Jinja2's limit, `MAX_RANGE`.
    static let maximumRange = 100_000

    func global(_ name: String) throws(TemplateError) -> Value? {
        switch name {
        case "range":
            return function(name) { (arguments, renderer) throws(TemplateError) in try renderer.range(arguments) }
        case "dict": return dictFunction
        case "namespace":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                let namespace = try renderer.namespace()
                for (key, value) in try renderer.dictEntries(arguments) {
                    try renderer.setAttribute(try renderer.string(key, "attribute name"), value, of: namespace)
                }
                return .object(namespace)
            }
        case "raise_exception":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                let message = try arguments.bind(name, ["message"], required: 1, renderer)[0] ?? .null
                throw renderer.fail(try renderer.string(message), .raised)
            }
        case "strftime_now":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                let format = try arguments.bind(name, ["format"], required: 1, renderer)[0] ?? .null
                return .string(try renderer.strftime(try renderer.string(format, "strftime_now's format")))
            }
        case "cycler":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                guard !arguments.positional.isEmpty else {
                    throw renderer.fail("at least one item has to be provided")
                }
                guard case .tuple(let items) = try renderer.tuple(arguments.positional) else { return .null }
                return .object(Cycler(items))
            }
        case "joiner":
            return function(name) { (arguments, renderer) throws(TemplateError) in
                let separator = try arguments.bind(name, ["sep"], renderer)[0] ?? .string(", ")
                return try renderer.object(Joiner(separator))
            }
        case "lipsum": throw fail("the function 'lipsum' is not available in chat templates")
        default: return nil
        }
    }

    private func range(_ arguments: Arguments) throws(TemplateError) -> Value {
        let bound = try arguments.bind("range", ["start", "stop", "step"], required: 1, self)
        let numbers = try bound.map { (value) throws(TemplateError) in
            try value.map { (value) throws(TemplateError) in
                guard value.integer != nil else {
                    throw fail("'\(value.typeName)' object cannot be interpreted as an integer")
                }
                return try integer(value, "range's argument")
            }
        }
        let start = numbers[1] == nil ? 0 : numbers[0] ?? 0
        let stop = numbers[1] ?? numbers[0] ?? 0
        let step = numbers[2] ?? 1
        guard step != 0 else { throw fail("range() arg 3 must not be zero") }
        let (distance, overflow) =
            step > 0
            ? stop.subtractingReportingOverflow(start) : start.subtractingReportingOverflow(stop)
        // If the distance overflows, the count is only known to be too large.
        let count = distance <= 0 && !overflow ? 0 : overflow ? Int.max : Int((UInt(distance) - 1) / step.magnitude + 1)
        guard count <= Renderer.maximumRange else {
            throw fail("range too big: the sandbox blocks ranges larger than \(Renderer.maximumRange)", .limit)
        }
        try charge(count)
        return .object(RangeObject(start: start, stop: stop, step: step, count: count))
    }

    private var dictFunction: Value {
        .object(
            Function("dict") { name in
                guard name == "fromkeys" else { return nil }
                return .object(
                    Function(name) { (arguments, renderer) throws(TemplateError) in
                        let bound = try arguments.bind(name, ["iterable", "value"], required: 1, renderer)
                        let keys = try renderer.iterate(bound[0] ?? .null)
                        return try renderer.dict(keys.map { ($0, bound[1] ?? .null) })
                    })
            } _: { (arguments, renderer) throws(TemplateError) in
                try renderer.dict(try renderer.dictEntries(arguments))
            })
    }

    /// Arguments of `dict(…)`: a mapping or pairs, then keywords.
    private func dictEntries(_ arguments: Arguments) throws(TemplateError) -> [(Value, Value)] {
        guard arguments.positional.count <= 1 else {
            throw fail("dict expected at most 1 argument, got \(arguments.positional.count)")
        }
        var entries: [(Value, Value)] = []
        switch arguments.positional.first {
        case nil: break
        case .dict(let dict): entries = Array(dict.entries)
        case let pairs?:
            for pair in try iterate(pairs) {
                let items = try iterate(pair)
                guard items.count == 2 else {
                    throw fail("dictionary update sequence element has length \(items.count); 2 is required")
                }
                entries.append((items[0], items[1]))
            }
        }
        for (name, value) in arguments.named { entries.append((.string(name), value)) }
        return entries
    }
}
