/// A value during rendering. Containers are immutable, as the sandbox requires.
enum Value {
    case undefined(Undefined)
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    /// Text marked as HTML by `escape` or `safe`: adding plain text to it escapes that text.
    case markup(String)
    case list(Items)
    case tuple(Items)
    case dict(Dict)
    case object(Object)
}

/// The reason for a missing value: the error message when it is used.
final class Undefined {
    let message: String
    let kind: TemplateError.Kind

    init(_ message: String, _ kind: TemplateError.Kind = .runtime) {
        self.message = message
        self.kind = kind
    }
}

/// The size of a value, counting shared parts repeatedly: limits recursion over values, freeing included.
struct Extent {
    /// The longest path to a leaf.
    var height = 0
    /// Number of leaves and containers; 64 bytes of text count as one.
    var weight = 1

    static func container(_ values: [Value]) -> Extent {
        var extent = Extent(height: 1, weight: 1)
        for value in values {
            let inner = value.extent
            extent.height = max(extent.height, inner.height + 1)
            let (sum, overflow) = extent.weight.addingReportingOverflow(inner.weight)
            extent.weight = overflow ? .max : sum
        }
        return extent
    }
}

/// The elements of a list or tuple.
final class Items {
    let values: [Value]
    let extent: Extent

    init(_ values: [Value]) {
        self.values = values
        extent = .container(values)
    }
}

/// A dict in insertion order.
final class Dict {
    let keys: [Value]
    let values: [Value]
    let extent: Extent
    private let index: [HashedKey: Int]

    /// - Precondition: Every key is `isHashable`. A repeated key keeps its first position and gets the last value.
    init(_ entries: some Sequence<(Value, Value)>) {
        var keys: [Value] = []
        var values: [Value] = []
        var index: [HashedKey: Int] = [:]
        for (key, value) in entries {
            let hashed = HashedKey(key)
            if let at = index[hashed] {
                values[at] = value
            } else {
                index[hashed] = keys.count
                keys.append(key)
                values.append(value)
            }
        }
        self.keys = keys
        self.values = values
        self.index = index
        extent = .container(keys + values)
    }

    var count: Int { keys.count }
    var entries: Zip2Sequence<[Value], [Value]> { zip(keys, values) }

    /// nil also for a key that is not hashable.
    subscript(key: Value) -> Value? {
        guard key.isHashable else { return nil }
        return index[HashedKey(key)].map { values[$0] }
    }

    subscript(key: String) -> Value? { self[.string(key)] }
}

/// A key of a dict with Python's equality: 1, 1.0 and True are equal, and strings compare by code points.
struct HashedKey: Hashable {
    let value: Value

    init(_ value: Value) { self.value = value }

    static func == (left: HashedKey, right: HashedKey) -> Bool { left.value.equals(right.value) }

    func hash(into hasher: inout Hasher) {
        switch value {
        case .undefined: hasher.combine(1)
        case .null: hasher.combine(2)
        case .bool(let bool): hasher.combine(bool ? 1 : 0)
        case .int(let int): hasher.combine(int)
        case .double(let double):
            if let int = Int(exactly: double) { hasher.combine(int) } else { hasher.combine(double) }
        case .string(var text), .markup(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .tuple(let items): for item in items.values { HashedKey(item).hash(into: &hasher) }
        case .list, .dict: break
        case .object(let object): hasher.combine(ObjectIdentifier(object))
        }
    }
}

/// Objects other than plain data: functions, namespaces, ranges, generators, the loop variable.
class Object {
    /// The Python type's name, for messages.
    var typeName: String { "object" }
    var extent: Extent { Extent() }
    var isTruthy: Bool { true }
    /// nil if `len()` fails.
    var count: Int? { nil }
    var isCallable: Bool { false }

    /// nil if it is not iterable. Generators are consumed.
    func iterate() -> [Value]? { nil }
    func attribute(_ name: String, _ renderer: Renderer) throws(TemplateError) -> Value? { nil }
    func call(_ arguments: Arguments, _ renderer: Renderer) throws(TemplateError) -> Value {
        throw renderer.fail("'\(typeName)' object is not callable")
    }
    func description(_ renderer: Renderer) throws(TemplateError) -> String { "<\(typeName) object>" }
}

extension Value {
    var extent: Extent {
        switch self {
        case .list(let items), .tuple(let items): items.extent
        case .dict(let dict): dict.extent
        case .object(let object): object.extent
        case .string(let text), .markup(let text): Extent(weight: 1 + text.utf8.count / 64)
        default: Extent()
        }
    }

    /// The text of a string, marked as HTML or not.
    var text: String? {
        switch self {
        case .string(let text), .markup(let text): text
        default: nil
        }
    }

    /// Integers and booleans, which are integers in Python.
    var integer: Int? {
        switch self {
        case .int(let int): int
        case .bool(let bool): bool ? 1 : 0
        default: nil
        }
    }

    var number: Double? {
        if case .double(let double) = self { return double }
        return integer.map(Double.init)
    }

    var isUndefined: Bool {
        if case .undefined = self { return true }
        return false
    }

    var isNone: Bool {
        if case .null = self { return true }
        return false
    }

    var isTruthy: Bool {
        switch self {
        case .undefined, .null: false
        case .bool(let bool): bool
        case .int(let int): int != 0
        case .double(let double): double != 0
        case .string(let text), .markup(let text): !text.isEmpty
        case .list(let items), .tuple(let items): !items.values.isEmpty
        case .dict(let dict): dict.count > 0
        case .object(let object): object.isTruthy
        }
    }

    var isHashable: Bool {
        switch self {
        case .list, .dict: false
        case .tuple(let items): items.values.allSatisfy(\.isHashable)
        default: true
        }
    }

    /// The Python type's name, for messages.
    var typeName: String {
        switch self {
        case .undefined: "Undefined"
        case .null: "NoneType"
        case .bool: "bool"
        case .int: "int"
        case .double: "float"
        case .string: "str"
        case .markup: "Markup"
        case .list: "list"
        case .tuple: "tuple"
        case .dict: "dict"
        case .object(let object): object.typeName
        }
    }

    /// Python's `==`.
    func equals(_ other: Value) -> Bool {
        switch (self, other) {
        case (.undefined, .undefined), (.null, .null): return true
        case (.int(let left), .int(let right)): return left == right
        case (.list(let left), .list(let right)), (.tuple(let left), .tuple(let right)):
            return left === right || Value.areEqual(left.values, right.values)
        case (.dict(let left), .dict(let right)):
            if left === right { return true }
            return left.count == right.count
                && left.entries.allSatisfy { key, value in right[key].map { $0.equals(value) } ?? false }
        case (.object(let left as RangeObject), .object(let right as RangeObject)):
            return Value.areEqual(left.values, right.values)
        case (.object(let left), .object(let right)): return left === right
        default:
            if let left = text, let right = other.text { return left.hasSameScalars(as: right) }
            if let left = integer, let right = other.integer { return left == right }
            // Exactly, as in Python: a double may be the nearest one of many integers.
            if let left = integer, case .double(let right) = other { return Int(exactly: right) == left }
            if let right = other.integer, case .double(let left) = self { return Int(exactly: left) == right }
            if let left = number, let right = other.number { return left == right }
            return false
        }
    }

    static func areEqual(_ left: [Value], _ right: [Value]) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0.equals($1) }
    }
}

extension String {
    /// Equality of code points, not Swift's canonical equivalence.
    func hasSameScalars(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}
