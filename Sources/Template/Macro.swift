/// A macro or the body of a `call` block, with the scope of its definition.
final class Macro: Object {
    private let definition: MacroDefinition
    private let scope: Scope

    init(_ definition: MacroDefinition, scope: Scope) {
        self.definition = definition
        self.scope = scope
    }

    private var name: String { definition.name ?? "caller" }
    override var typeName: String { "Macro" }
    override var isCallable: Bool { true }

    override func attribute(_ name: String, _ renderer: Renderer) throws(TemplateError) -> Value? {
        switch name {
        case "name": definition.name.map { .string($0) } ?? .null
        case "arguments": try renderer.tuple(definition.parameters.map { .string($0.name) })
        case "catch_kwargs": .bool(definition.usesKwargs)
        case "catch_varargs": .bool(definition.usesVarargs)
        case "caller": .bool(definition.usesCaller)
        default: nil
        }
    }

    override func call(_ arguments: Arguments, _ renderer: Renderer) throws(TemplateError) -> Value {
        try renderer.nested { () throws(TemplateError) in
            let inner = Scope(parent: scope)
            return try renderer.within(inner) { () throws(TemplateError) in
                try bind(arguments, in: inner, renderer)
                let text = try renderer.capture { () throws(TemplateError) in
                    _ = try renderer.run(definition.body)
                }
                return .string(text)
            }
        }
    }

    private func bind(_ arguments: Arguments, in inner: Scope, _ renderer: Renderer) throws(TemplateError) {
        // Each parameter is searched for among the names.
        try renderer.charge(definition.parameters.count * (1 + arguments.named.count))
        var named = arguments.named
        func take(_ name: String) -> Value? {
            named.firstIndex { $0.name == name }.map { named.remove(at: $0).value }
        }
        let parameters = definition.parameters
        var missing: [MacroDefinition.Parameter] = []
        for (index, parameter) in parameters.enumerated() {
            if index < arguments.positional.count {
                inner.set(parameter.symbol, arguments.positional[index])
            } else if let value = take(parameter.name) {
                inner.set(parameter.symbol, value)
            } else {
                missing.append(parameter)
                inner.set(
                    parameter.symbol, .undefined(Undefined("parameter '\(parameter.name)' was not provided")))
            }
        }
        if definition.usesCaller {
            inner.set(SymbolTable.caller, take("caller") ?? .undefined(Undefined("No caller defined")))
        }
        if definition.usesKwargs {
            inner.set(SymbolTable.kwargs, try renderer.dict(named.map { (.string($0.name), $0.value) }))
        } else if let name = named.first?.name {
            throw renderer.fail("macro '\(self.name)' takes no keyword argument '\(name)'")
        }
        let extra = Array(arguments.positional.dropFirst(parameters.count))
        if definition.usesVarargs {
            inner.set(SymbolTable.varargs, try renderer.tuple(extra))
        } else if !extra.isEmpty {
            throw renderer.fail("macro '\(self.name)' takes not more than \(parameters.count) argument(s)")
        }
        for parameter in missing {
            if let value = parameter.defaultValue { inner.set(parameter.symbol, try renderer.evaluate(value)) }
        }
    }

    override func description(_ renderer: Renderer) -> String {
        definition.name.map { "<Macro '\($0)'>" } ?? "<Macro anonymous>"
    }
}
