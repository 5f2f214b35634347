import Foundation
import Platform

/// Renders a template once: holds the scopes, the output so far, and the remaining limits.
///
/// Confined to the thread that created it.
final class Renderer {
    /// Maximum nesting of tags, expressions, macro calls and loop recursion together. A level takes at most 1 KiB of
    /// stack in a release build and 8 KiB in a debug build, so that 512 KiB are enough for a release build.
    static let maximumDepth = 200
    /// Steps between two checks of the clock and the task: some milliseconds of work.
    private static let stepsOfReview = 1 << 16
    /// Maximum number of leaves in one value.
    static let maximumWeight = 2_000_000

    let symbols: SymbolTable
    let limits: ChatTemplate.Limits
    let now: Date?

    /// The innermost scope.
    var scope: Scope
    private let root: Scope
    var output = ""
    /// The current line, for errors.
    var line = 1
    private var depth = 0
    private var steps = 0
    private var stepLimit: Int
    /// The step of the next check of the clock and the task.
    private var nextReview = Renderer.stepsOfReview
    private let started = ThreadTime.seconds
    private var written = 0
    private var namespaces: [Namespace] = []
    private var capturedScopes: [Scope] = []
    private var loops: [LoopObject] = []

    init(symbols: SymbolTable, limits: ChatTemplate.Limits, now: Date?) {
        self.symbols = symbols
        self.limits = limits
        self.now = now
        stepLimit = limits.steps
        root = Scope(parent: nil)
        scope = root
    }

    func render(_ body: [Statement], _ variables: TemplateObject) throws(TemplateError) -> String {
        for (name, value) in variables.entries {
            guard let symbol = symbols.find(name), value != .undefined else { continue }
            root.set(symbol, try convert(value, depth: 0))
        }
        _ = try run(body)
        return output
    }

    func clearAtEnd(_ loop: LoopObject) { loops.append(loop) }

    /// Breaks the reference cycles between macros, scopes, namespaces and loops.
    func tearDown() {
        for loop in loops { loop.clear() }
        for namespace in namespaces { namespace.clear() }
        for scope in capturedScopes { scope.clear() }
        root.clear()
    }

    private func convert(_ value: TemplateValue, depth: Int) throws(TemplateError) -> Value {
        guard depth < Renderer.maximumDepth else {
            throw TemplateError(.limit, line: 1, "a variable nests deeper than \(Renderer.maximumDepth) levels")
        }
        switch value {
        case .undefined: return .undefined(Undefined("the value is undefined"))
        case .none: return .null
        case .bool(let bool): return .bool(bool)
        case .int(let int): return .int(int)
        case .double(let double): return .double(double)
        case .string(let text):
            stepLimit += 2 * text.utf8.count  // memory sizes, which cannot overflow
            return .string(text)
        case .array(let array):
            var values: [Value] = []
            values.reserveCapacity(array.count)
            for element in array { values.append(try convert(element, depth: depth + 1)) }
            return .list(Items(values))
        case .object(let object):
            var entries: [(Value, Value)] = []
            entries.reserveCapacity(object.entries.count)
            for (key, element) in object.entries {
                entries.append((.string(key), try convert(element, depth: depth + 1)))
            }
            return .dict(Dict(entries))
        }
    }
}

// MARK: - Errors and bounds

extension Renderer {
    func fail(_ message: String, _ kind: TemplateError.Kind = .runtime) -> TemplateError {
        // A message may quote a value of many megabytes, so it is truncated.
        TemplateError(kind, line: line, message.utf8.count <= 4096 ? message : message.prefix(1000) + "…")
    }

    func fail(_ undefined: Undefined) -> TemplateError { fail(undefined.message, undefined.kind) }

    func charge(_ count: Int = 1) throws(TemplateError) {
        // Counts are sizes of values in memory, which cannot overflow.
        steps &+= count
        if steps > stepLimit { throw fail("the template does not finish within \(stepLimit) steps", .limit) }
        if steps >= nextReview { try review() }
    }

    /// Charges for reading or creating text.
    func charge(bytes: Int) throws(TemplateError) { try charge(1 + bytes / 16) }

    /// Charges for reading a value: its text, or its elements without their contents.
    func charge(reading value: Value) throws(TemplateError) {
        switch value {
        case .string(let text), .markup(let text): try charge(bytes: text.utf8.count)
        case .list(let items), .tuple(let items): try charge(1 + items.values.count)
        case .dict(let dict): try charge(1 + 2 * dict.count)
        case .object(let object): try charge(1 + (object.count ?? 0))
        default: try charge()
        }
    }

    /// Charges for the arguments of a filter, test or method.
    func charge(reading arguments: Arguments) throws(TemplateError) {
        for value in arguments.positional { try charge(reading: value) }
        for (_, value) in arguments.named { try charge(reading: value) }
    }

    /// Whether a value is hashable; charges for hashing it.
    func isHashable(_ value: Value) throws(TemplateError) -> Bool {
        try charge(value.extent.weight)
        return value.isHashable
    }

    private func review() throws(TemplateError) {
        nextReview = steps + Renderer.stepsOfReview
        if Task.isCancelled { throw fail("rendering was cancelled", .limit) }
        guard ThreadTime.seconds - started <= limits.seconds else {
            throw fail("the template does not finish within \(limits.seconds) seconds", .limit)
        }
    }

    func write(_ text: String) throws(TemplateError) {
        let count = text.utf8.count
        written += count
        guard written <= limits.outputBytes else {
            throw fail("the template writes more than \(limits.outputBytes) bytes", .limit)
        }
        try charge(bytes: count)
        output += text
    }

    /// The output of `body`, which is not written.
    func capture(_ body: () throws(TemplateError) -> Void) throws(TemplateError) -> String {
        let saved = output
        output = ""
        defer { output = saved }
        try body()
        return output
    }

    /// Runs `body` one level deeper.
    func nested<T>(_ body: () throws(TemplateError) -> T) throws(TemplateError) -> T {
        try enter()
        defer { leave() }
        return try body()
    }

    func enter() throws(TemplateError) {
        guard depth < Renderer.maximumDepth else {
            throw fail("the template recurses deeper than \(Renderer.maximumDepth) levels", .limit)
        }
        depth += 1
    }

    func leave() { depth -= 1 }
}

// MARK: - Making values

extension Renderer {
    func list(_ values: [Value]) throws(TemplateError) -> Value {
        try charge(values.count)
        return .list(try bounded(Items(values), \.extent))
    }

    func tuple(_ values: [Value]) throws(TemplateError) -> Value {
        try charge(values.count)
        return .tuple(try bounded(Items(values), \.extent))
    }

    func generator(_ values: [Value]) throws(TemplateError) -> Value {
        try charge(values.count)
        return .object(try bounded(Generator(values), \.extent))
    }

    func dict(_ entries: some Collection<(Value, Value)>) throws(TemplateError) -> Value {
        try charge(2 * entries.count)
        for (key, _) in entries where !(try isHashable(key)) { throw fail("unhashable type: '\(key.typeName)'") }
        return .dict(try bounded(Dict(entries), \.extent))
    }

    func object(_ object: Object) throws(TemplateError) -> Value {
        .object(try bounded(object, \.extent))
    }

    private func bounded<T>(_ value: T, _ extent: KeyPath<T, Extent>) throws(TemplateError) -> T {
        let extent = value[keyPath: extent]
        guard extent.height <= Renderer.maximumDepth / 2, extent.weight <= Renderer.maximumWeight else {
            throw fail("the template builds a value that is too large or too deeply nested", .limit)
        }
        try charge(4)
        return value
    }

    func namespace() throws(TemplateError) -> Namespace {
        try charge(8)
        let namespace = Namespace()
        namespaces.append(namespace)
        return namespace
    }

    func areEqual(_ left: Value, _ right: Value) throws(TemplateError) -> Bool {
        try charge(min(left.extent.weight, right.extent.weight))
        return left.equals(right)
    }
}

// MARK: - Variables

/// The variables of a template, loop body, macro call or `with`. Assignments never affect outer scopes.
final class Scope {
    let parent: Scope?
    private var names: [Symbol] = []
    private var values: [Value] = []
    /// Used once there are too many names for a linear search.
    private var index: [Symbol: Int] = [:]
    private static let indexedFrom = 32

    init(parent: Scope?) { self.parent = parent }

    func find(_ symbol: Symbol) -> Value? {
        var scope: Scope? = self
        while let current = scope {
            if let at = current.position(of: symbol) { return current.values[at] }
            scope = current.parent
        }
        return nil
    }

    private func position(of symbol: Symbol) -> Int? {
        names.count < Scope.indexedFrom ? names.firstIndex(of: symbol) : index[symbol]
    }

    func set(_ symbol: Symbol, _ value: Value) {
        if let at = position(of: symbol) {
            values[at] = value
            return
        }
        names.append(symbol)
        values.append(value)
        if names.count == Scope.indexedFrom {
            for (at, name) in names.enumerated() { index[name] = at }
        } else if names.count > Scope.indexedFrom {
            index[symbol] = names.count - 1
        }
    }

    func clear() {
        names.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        index.removeAll()
    }
}

extension Renderer {
    func variable(_ symbol: Symbol) throws(TemplateError) -> Value {
        if let value = scope.find(symbol) { return value }
        let name = symbols.names[symbol]
        return try global(name) ?? .undefined(Undefined("'\(name)' is undefined"))
    }

    /// Runs `body` with `inner` as the innermost scope.
    func within<T>(_ inner: Scope, _ body: () throws(TemplateError) -> T) throws(TemplateError) -> T {
        let saved = scope
        scope = inner
        defer { scope = saved }
        return try body()
    }

    /// The current scope, marked as retained by a macro.
    func captureScope() -> Scope {
        if capturedScopes.last !== scope { capturedScopes.append(scope) }
        return scope
    }

    var rootScope: Scope { root }
}
