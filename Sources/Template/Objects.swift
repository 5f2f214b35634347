/// `range(…)`.
final class RangeObject: Object {
    let start: Int
    let stop: Int
    let step: Int
    let values: [Value]

    /// - Precondition: The last of `count` elements is between `start` and `stop`.
    init(start: Int, stop: Int, step: Int, count: Int) {
        self.start = start
        self.stop = stop
        self.step = step
        values = (0..<count).map { .int(start + $0 * step) }
    }

    override var typeName: String { "range" }
    override var isTruthy: Bool { !values.isEmpty }
    override var count: Int? { values.count }
    override func iterate() -> [Value]? { values }
    override func description(_ renderer: Renderer) -> String {
        step == 1 ? "range(\(start), \(stop))" : "range(\(start), \(stop), \(step))"
    }
}

/// The result of a filter that is lazy in Python: it has no length and can be iterated once.
final class Generator: Object {
    private var values: ArraySlice<Value>
    private let inside: Extent

    init(_ values: [Value]) {
        self.values = values[...]
        inside = .container(values)
    }

    override var typeName: String { "generator" }
    override var extent: Extent { inside }
    override func iterate() -> [Value]? {
        defer { values = [] }
        return Array(values)
    }

    /// Constant time: a slice drops its first element without moving the others.
    func next() -> Value? { values.popFirst() }
}

/// `dict.keys()`, `.values()` and `.items()`.
final class DictView: Object {
    private let name: String
    let values: [Value]
    private let inside: Extent

    init(_ name: String, _ values: [Value]) {
        self.name = name
        self.values = values
        inside = .container(values)
    }

    override var typeName: String { name }
    override var extent: Extent { inside }
    override var isTruthy: Bool { !values.isEmpty }
    override var count: Int? { values.count }
    override func iterate() -> [Value]? { values }
    override func description(_ renderer: Renderer) throws(TemplateError) -> String {
        "\(name)(\(try renderer.repr(.list(Items(values)))))"
    }
}

/// A result of `groupby`: a tuple with named elements.
final class Group: Object {
    let grouper: Value
    let list: Value

    init(grouper: Value, list: Value) {
        self.grouper = grouper
        self.list = list
    }

    override var typeName: String { "tuple" }
    override var extent: Extent { .container([grouper, list]) }
    override var count: Int? { 2 }
    override func iterate() -> [Value]? { [grouper, list] }
    override func attribute(_ name: String, _ renderer: Renderer) -> Value? {
        switch name {
        case "grouper": grouper
        case "list": list
        default: nil
        }
    }
    override func description(_ renderer: Renderer) throws(TemplateError) -> String {
        try renderer.repr(.tuple(Items([grouper, list])))
    }
}

/// `namespace(…)`: the only mutable object in a template.
final class Namespace: Object {
    private var names: [Value] = []
    private var values: [Value] = []
    private var index: [HashedKey: Int] = [:]

    override var typeName: String { "Namespace" }

    func set(_ name: String, _ value: Value) {
        let key = HashedKey(.string(name))
        if let at = index[key] {
            values[at] = value
        } else {
            index[key] = names.count
            names.append(.string(name))
            values.append(value)
        }
    }

    func get(_ name: String) -> Value? { index[HashedKey(.string(name))].map { values[$0] } }

    /// Breaks reference cycles after rendering.
    func clear() { values = names.map { _ in .null } }

    override func attribute(_ name: String, _ renderer: Renderer) -> Value? { get(name) }

    override func description(_ renderer: Renderer) throws(TemplateError) -> String {
        let dict = Dict(zip(names, values))
        return "<Namespace \(try renderer.repr(.dict(dict)))>"
    }
}

/// `cycler(…)`.
final class Cycler: Object {
    private let items: Items
    private var position = 0

    /// - Precondition: `items` is not empty.
    init(_ items: Items) { self.items = items }

    override var typeName: String { "Cycler" }
    override var extent: Extent { items.extent }
    override func attribute(_ name: String, _ renderer: Renderer) -> Value? {
        switch name {
        case "current": items.values[position]
        case "items": .tuple(items)
        case "pos": .int(position)
        case "next":
            .object(
                Function("next") { [self] _, _ in
                    defer { position = (position + 1) % items.values.count }
                    return items.values[position]
                })
        case "reset":
            .object(
                Function("reset") { [self] _, _ in
                    position = 0
                    return .null
                })
        default: nil
        }
    }
}

/// `joiner(…)`: returns nothing on the first call, the separator afterwards.
final class Joiner: Object {
    private let separator: Value
    private var isUsed = false

    init(_ separator: Value) { self.separator = separator }

    override var typeName: String { "Joiner" }
    override var extent: Extent { .container([separator]) }
    override var isCallable: Bool { true }
    override func call(_ arguments: Arguments, _ renderer: Renderer) -> Value {
        defer { isUsed = true }
        return isUsed ? separator : .string("")
    }
}

/// A built-in function, or a method bound to its receiver.
final class Function: Object {
    typealias Body = (Arguments, Renderer) throws(TemplateError) -> Value
    private let name: String
    private let body: Body
    private let attributes: (String) -> Value?

    init(_ name: String, attributes: @escaping (String) -> Value? = { _ in nil }, _ body: @escaping Body) {
        self.name = name
        self.body = body
        self.attributes = attributes
    }

    override var typeName: String { "builtin_function_or_method" }
    override var isCallable: Bool { true }
    override func attribute(_ name: String, _ renderer: Renderer) -> Value? { attributes(name) }
    override func call(_ arguments: Arguments, _ renderer: Renderer) throws(TemplateError) -> Value {
        try body(arguments, renderer)
    }
    override func description(_ renderer: Renderer) -> String { "<built-in function \(name)>" }
}
