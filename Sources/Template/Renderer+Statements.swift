extension Renderer {
    enum Flow { case normal, breakLoop, continueLoop }

    func run(_ body: [Statement]) throws(TemplateError) -> Flow {
        for statement in body {
            line = statement.line
            try charge()
            let flow: Flow
            switch statement.kind {
            case .text(let text):
                try write(text)
                continue
            case .output(let expression):
                try write(try string(try evaluate(expression)))
                continue
            case .breakLoop: return .breakLoop
            case .continueLoop: return .continueLoop
            default: flow = try nested { () throws(TemplateError) in try runNested(statement) }
            }
            if flow != .normal { return flow }
        }
        return .normal
    }

    private func runNested(_ statement: Statement) throws(TemplateError) -> Flow {
        switch statement.kind {
        case .ifElse(let branches, let otherwise): return try runIf(branches, otherwise)
        case .scope(let body): return try runScoped(body)
        case .with(let bindings, let body): return try runWith(bindings, body)
        case .forLoop(let loop): try runFor(loop)
        case .evaluate(let expression): _ = try evaluate(expression)
        case .set(let target, let value): try assign(target, try evaluate(value))
        case .setBlock(let target, let filter, let body):
            try assign(target, try captureScoped(body, filter))
        case .filterBlock(let filter, let body): try write(try string(try captureScoped(body, filter)))
        case .macro(let definition):
            scope.set(definition.symbol, .object(Macro(definition, scope: captureScope())))
        case .callBlock(let definition, let call):
            let caller = Macro(definition, scope: captureScope())
            try write(try string(try evaluateCall(call, caller: .object(caller))))
        case .block(let body):
            _ = try within(Scope(parent: rootScope)) { () throws(TemplateError) in try run(body) }
        case .text, .output, .breakLoop, .continueLoop: break  // handled by `run`
        }
        return .normal
    }

    private func runIf(_ branches: [Branch], _ otherwise: [Statement]) throws(TemplateError) -> Flow {
        for branch in branches where try evaluate(branch.test).isTruthy { return try run(branch.body) }
        return try run(otherwise)
    }

    private func runScoped(_ body: [Statement]) throws(TemplateError) -> Flow {
        try within(Scope(parent: scope)) { () throws(TemplateError) in try run(body) }
    }

    private func runWith(_ bindings: [WithBinding], _ body: [Statement]) throws(TemplateError) -> Flow {
        let inner = Scope(parent: scope)
        for binding in bindings {
            let value = try evaluate(binding.value)
            try within(inner) { () throws(TemplateError) in try assign(binding.target, value) }
        }
        return try within(inner) { () throws(TemplateError) in try run(body) }
    }

    private func captureScoped(_ body: [Statement], _ filter: Expression?) throws(TemplateError) -> Value {
        let text = try capture { () throws(TemplateError) in _ = try runScoped(body) }
        guard let filter else { return .string(text) }
        return try evaluateFilter(filter, body: .string(text))
    }

    func assign(_ target: Target, _ value: Value) throws(TemplateError) {
        switch target {
        case .name(let symbol): scope.set(symbol, value)
        case .namespaceAttribute(let symbol, let name):
            guard case .object(let object as Namespace) = try variable(symbol) else {
                throw fail("cannot assign attribute on non-namespace object '\(symbols.names[symbol])'")
            }
            try setAttribute(name, value, of: object)
        case .tuple(let targets):
            let values = try iterate(value)
            guard values.count == targets.count else {
                let what = values.count > targets.count ? "too many" : "not enough"
                throw fail("\(what) values to unpack (expected \(targets.count), got \(values.count))")
            }
            for (target, value) in zip(targets, values) { try assign(target, value) }
        }
    }

    /// Sets an attribute of a namespace. Names that begin with an underscore are rejected, as in transformers.
    func setAttribute(_ name: String, _ value: Value, of namespace: Namespace) throws(TemplateError) {
        guard name.utf8.first != UInt8(ascii: "_") else {
            throw fail("a namespace cannot have an attribute named '\(name)'", .security)
        }
        try charge()
        namespace.set(name, value)
    }
}

// MARK: - Loops

extension Renderer {
    private func runFor(_ loop: ForLoop) throws(TemplateError) {
        try runLoop(loop, over: try evaluate(loop.iterable), in: scope, depth: 0)
    }

    /// - Parameter outer: The scope around the loop; a recursive call may come from a deeper scope.
    func runLoop(_ loop: ForLoop, over iterable: Value, in outer: Scope, depth: Int) throws(TemplateError) {
        let items = try selected(loop, try iterate(iterable), in: outer)
        try charge(items.count)  // even if the loop ends early: `loop` counts all elements
        if items.isEmpty {
            _ = try within(Scope(parent: outer)) { () throws(TemplateError) in try run(loop.otherwise) }
            return
        }
        let state = LoopObject(items: items, depth0: depth) { [unowned self] (value, depth) throws(TemplateError) in
            guard loop.isRecursive else { throw fail("the loop must have the 'recursive' marker to be called") }
            return try capture { () throws(TemplateError) in
                try nested { () throws(TemplateError) in
                    try runLoop(loop, over: value, in: outer, depth: depth)
                }
            }
        }
        var inner = Scope(parent: outer)
        for index in items.indices {
            state.index0 = index
            if isKnownUniquelyReferenced(&inner) { inner.clear() } else { inner = Scope(parent: outer) }
            let flow = try within(inner) { () throws(TemplateError) in
                inner.set(SymbolTable.loop, .object(state))
                try assign(loop.target, items[index])
                return try run(loop.body)
            }
            if flow == .breakLoop { break }
        }
    }

    private func selected(_ loop: ForLoop, _ items: [Value], in outer: Scope) throws(TemplateError) -> [Value] {
        guard let test = loop.test else { return items }
        let inner = Scope(parent: outer)
        return try within(inner) { () throws(TemplateError) in
            var kept: [Value] = []
            for item in items {
                inner.clear()
                try assign(loop.target, item)
                if try evaluate(test).isTruthy { kept.append(item) }
            }
            return kept
        }
    }
}

/// The variable `loop`.
final class LoopObject: Object {
    private let items: [Value]
    private let depth0: Int
    private let recurse: (Value, Int) throws(TemplateError) -> String
    private var lastChanged: Value?
    var index0 = 0

    init(items: [Value], depth0: Int, recurse: @escaping (Value, Int) throws(TemplateError) -> String) {
        self.items = items
        self.depth0 = depth0
        self.recurse = recurse
    }

    override var typeName: String { "LoopContext" }
    override var isCallable: Bool { true }
    override var count: Int? { items.count }
    override var extent: Extent { inside }
    private lazy var inside = Extent.container(items)

    /// Breaks the cycle that `loop.changed(loop)` makes.
    func clear() { lastChanged = nil }

    override func call(_ arguments: Arguments, _ renderer: Renderer) throws(TemplateError) -> Value {
        let bound = try arguments.bind("loop", ["iterable"], required: 1, renderer)
        return .string(try recurse(bound[0] ?? .null, depth0 + 1))
    }

    override func attribute(_ name: String, _ renderer: Renderer) throws(TemplateError) -> Value? {
        switch name {
        case "index": .int(index0 + 1)
        case "index0": .int(index0)
        case "revindex": .int(items.count - index0)
        case "revindex0": .int(items.count - index0 - 1)
        case "first": .bool(index0 == 0)
        case "last": .bool(index0 == items.count - 1)
        case "length": .int(items.count)
        case "depth": .int(depth0 + 1)
        case "depth0": .int(depth0)
        case "previtem": index0 > 0 ? items[index0 - 1] : .undefined(Undefined("there is no previous item"))
        case "nextitem":
            index0 + 1 < items.count ? items[index0 + 1] : .undefined(Undefined("there is no next item"))
        case "cycle":
            .object(
                Function("cycle") { [self] (arguments, renderer) throws(TemplateError) in
                    guard !arguments.positional.isEmpty else { throw renderer.fail("no items for cycling given") }
                    return arguments.positional[index0 % arguments.positional.count]
                })
        case "changed":
            .object(
                Function("changed") { [self] (arguments, renderer) throws(TemplateError) in
                    let value = try renderer.tuple(arguments.positional)
                    if lastChanged == nil { renderer.clearAtEnd(self) }
                    defer { lastChanged = value }
                    guard let lastChanged else { return .bool(true) }
                    return .bool(!(try renderer.areEqual(lastChanged, value)))
                })
        default: nil
        }
    }

    override func description(_ renderer: Renderer) -> String { "<LoopContext \(index0 + 1)/\(items.count)>" }
}
