/// The evaluated arguments of a call.
struct Arguments {
    var positional: [Value] = []
    var named: [(name: String, value: Value)] = []

    /// The arguments in the order of `names`; nil for missing ones.
    ///
    /// - Parameter required: Number of leading parameters that must be given.
    func bind(
        _ function: String, _ names: [String], required: Int = 0, _ renderer: Renderer
    ) throws(TemplateError) -> [Value?] {
        guard positional.count <= names.count else {
            throw renderer.fail("\(function)() takes at most \(names.count) arguments, \(positional.count) given")
        }
        var bound: [Value?] = positional
        bound.append(contentsOf: repeatElement(nil, count: names.count - positional.count))
        for (name, value) in named {
            guard let at = names.firstIndex(of: name) else {
                throw renderer.fail("\(function)() got an unexpected keyword argument '\(name)'")
            }
            guard bound[at] == nil else {
                throw renderer.fail("\(function)() got multiple values for argument '\(name)'")
            }
            bound[at] = value
        }
        for at in 0..<required where bound[at] == nil {
            throw renderer.fail("\(function)() is missing the argument '\(names[at])'")
        }
        return bound
    }

    func rejectAll(_ function: String, _ renderer: Renderer) throws(TemplateError) {
        _ = try bind(function, [], renderer)
    }
}

extension Optional where Wrapped == Value {
    /// The argument, unless it is missing or None.
    var given: Value? {
        if let self, !self.isNone { return self }
        return nil
    }
}

extension Renderer {
    /// The value of an argument that must be an integer.
    func integer(_ value: Value, _ what: String) throws(TemplateError) -> Int {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        guard let integer = value.integer else {
            throw fail("\(what) must be an integer, not \(value.typeName)")
        }
        return integer
    }

    func string(_ value: Value, _ what: String) throws(TemplateError) -> String {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        guard let text = value.text else { throw fail("\(what) must be str, not \(value.typeName)") }
        return text
    }
}
