/// A value for a template: JSON, with integers and fractions distinguished.
public enum TemplateValue: Sendable, Equatable {
    case undefined
    case none
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([TemplateValue])
    case object(TemplateObject)
}

/// Values by key, in the order of first insertion, so that templates print tools as the request wrote them.
public struct TemplateObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// Unique keys, in order. Keys are compared as bytes, not by canonical equivalence.
    public private(set) var entries: [(key: String, value: TemplateValue)] = []
    private var index: [[UInt8]: Int] = [:]

    public init() {}

    /// A repeated key replaces the value and keeps its position, as in Python.
    public init(dictionaryLiteral elements: (String, TemplateValue)...) {
        for (key, value) in elements { self[key] = value }
    }

    public init(_ entries: some Sequence<(key: String, value: TemplateValue)>) {
        for (key, value) in entries { self[key] = value }
    }

    /// Setting nil is ignored: keys cannot be removed.
    public subscript(key: String) -> TemplateValue? {
        get { index[Array(key.utf8)].map { entries[$0].value } }
        set {
            guard let newValue else { return }
            let bytes = Array(key.utf8)
            if let at = index[bytes] {
                entries[at].value = newValue
            } else {
                index[bytes] = entries.count
                entries.append((key, newValue))
            }
        }
    }

    /// Equal keys and values, in any order.
    public static func == (left: TemplateObject, right: TemplateObject) -> Bool {
        left.entries.count == right.entries.count && left.entries.allSatisfy { right[$0.key] == $0.value }
    }
}
