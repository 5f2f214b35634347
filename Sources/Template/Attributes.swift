// `value.name`, `value[index]` and slices.
extension Renderer {
    /// `value.name`: a method or property first, then an item.
    func attribute(_ name: String, of value: Value) throws(TemplateError) -> Value {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        if let found = try member(name, of: value) { return found }
        if case .dict(let dict) = value, let found = dict[name] { return found }
        if case .object(let object as Namespace) = value, let found = object.get(name) { return found }
        return .undefined(noAttribute(name, value))
    }

    /// `value[index]`: an item first, then a method or property of that name.
    func item(_ index: Value, of value: Value) throws(TemplateError) -> Value {
        try charge(index.extent.weight)  // to hash or compare it
        switch value {
        case .undefined(let undefined): throw fail(undefined)
        case .dict(let dict):
            if let found = dict[index] { return found }
        case .list(let items), .tuple(let items):
            if let at = index.integer, let found = items.values.element(at: at) { return found }
        case .string(let text), .markup(let text):
            if let at = index.integer, let found = try scalar(at, of: text) { return .string(String(found)) }
        case .object(let object as RangeObject):
            if let at = index.integer, let found = object.values.element(at: at) { return found }
        case .object(let object as Group):
            if let at = index.integer, let found = [object.grouper, object.list].element(at: at) { return found }
        default: break
        }
        guard let name = index.text else {
            return .undefined(Undefined("\(value.typeName) object has no element \(try repr(index))"))
        }
        return try member(name, of: value) ?? .undefined(noAttribute(name, value))
    }

    /// A method or property; nil if there is none. Members that the sandbox forbids are undefined, with the reason.
    func member(_ name: String, of value: Value) throws(TemplateError) -> Value? {
        if name.utf8.first == UInt8(ascii: "_") {
            guard name.utf8.count > 4, name.utf8.starts(with: "__".utf8), name.utf8.reversed().starts(with: "__".utf8)
            else { return nil }
            return .undefined(unsafe(name, value))
        }
        switch value {
        case .string(let text): return try stringMethod(name, text)
        case .markup(let text): return try stringMethod(name, text)
        case .list(let items):
            if Renderer.listMutators.contains(name) { return .undefined(unsafe(name, value)) }
            return name == "copy" ? function(name) { _, _ in value } : sequenceMethod(name, items)
        case .tuple(let items): return sequenceMethod(name, items)
        case .dict(let dict):
            if Renderer.dictMutators.contains(name) { return .undefined(unsafe(name, value)) }
            return dictMethod(name, dict)
        case .object(let object): return try object.attribute(name, self)
        case .int, .bool, .double: return numberMember(name, value)
        case .null, .undefined: return nil
        }
    }

    private static let listMutators: Set<String> = [
        "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort",
    ]
    private static let dictMutators: Set<String> = ["clear", "pop", "popitem", "setdefault", "update"]

    private func unsafe(_ name: String, _ value: Value) -> Undefined {
        Undefined("access to attribute '\(name)' of '\(value.typeName)' object is unsafe", .security)
    }

    func noAttribute(_ name: String, _ value: Value) -> Undefined {
        let type = value.isNone ? "None" : "\(value.typeName) object"
        return Undefined("'\(type)' has no attribute '\(name)'")
    }

    func function(_ name: String, _ body: @escaping Function.Body) -> Value { .object(Function(name, body)) }

    private func numberMember(_ name: String, _ value: Value) -> Value? {
        switch (name, value) {
        case ("real", .double), ("real", .int): return value
        case ("imag", .double): return .double(0)
        case ("imag", .int): return .int(0)
        case ("is_integer", .double(let double)):
            return function(name) { (arguments, renderer) throws(TemplateError) in
                try arguments.rejectAll(name, renderer)
                return .bool(double.isFinite && double == double.rounded())
            }
        default: return nil
        }
    }
}

// MARK: - Slices

extension Renderer {
    func slice(_ value: Value, _ start: Value?, _ stop: Value?, _ step: Value?) throws(TemplateError) -> Value {
        let step = try sliceBound(step) ?? 1
        guard step != 0 else { throw fail("slice step cannot be zero") }
        let start = try sliceBound(start)
        let stop = try sliceBound(stop)
        switch value {
        case .string(let text): return .string(try slice(text, start, stop, step))
        case .markup(let text): return .markup(try slice(text, start, stop, step))
        case .list(let items): return try list(slice(items.values, start, stop, step))
        case .tuple(let items): return try tuple(slice(items.values, start, stop, step))
        case .object(let object as RangeObject): return try list(slice(object.values, start, stop, step))
        case .undefined(let undefined): throw fail(undefined)
        default: return .undefined(Undefined("'\(value.typeName) object' cannot be sliced"))
        }
    }

    private func sliceBound(_ value: Value?) throws(TemplateError) -> Int? {
        guard let value, !value.isNone else { return nil }
        guard let bound = value.integer else { throw fail("slice indices must be integers or None") }
        return bound
    }

    private func slice<T>(_ values: [T], _ start: Int?, _ stop: Int?, _ step: Int) -> [T] {
        let bounds = SliceBounds(start, stop, step, count: values.count)
        if step == 1 { return Array(values[min(bounds.start, bounds.stop)..<max(bounds.start, bounds.stop)]) }
        // A step beyond the length selects one element, as a step equal to the length does.
        let stride = stride(
            from: bounds.start, to: bounds.stop, by: max(-values.count - 1, min(step, values.count + 1)))
        return stride.map { values[$0] }
    }

    private func slice(_ text: String, _ start: Int?, _ stop: Int?, _ step: Int) throws(TemplateError) -> String {
        try charge(bytes: text.utf8.count)
        if step == 1 {
            let scalars = text.unicodeScalars
            let from = scalars.position(start ?? 0)
            let to = stop.map { scalars.position($0) } ?? scalars.endIndex
            return from < to ? String(scalars[from..<to]) : ""
        }
        return String(slice(Array(text.unicodeScalars), start, stop, step))
    }

    private func scalar(_ at: Int, of text: String) throws(TemplateError) -> Unicode.Scalar? {
        let scalars = text.unicodeScalars
        // Finding a character takes time proportional to its distance from the start or end.
        try charge(bytes: min(Int(clamping: at.magnitude), text.utf8.count))
        if at < 0 {
            guard at.magnitude <= UInt(text.utf8.count),
                let index = scalars.index(scalars.endIndex, offsetBy: at, limitedBy: scalars.startIndex)
            else { return nil }
            return scalars[index]
        }
        guard at < text.utf8.count,
            let index = scalars.index(scalars.startIndex, offsetBy: at, limitedBy: scalars.endIndex),
            index < scalars.endIndex
        else { return nil }
        return scalars[index]
    }
}

/// Python's slice bounds, normalized and clamped; stepping from `start` to `stop` stays in range.
struct SliceBounds {
    let start: Int
    let stop: Int

    init(_ start: Int?, _ stop: Int?, _ step: Int, count: Int) {
        let lowest = step > 0 ? 0 : -1
        let highest = step > 0 ? count : count - 1
        func resolve(_ bound: Int) -> Int {
            // `count` is not negative, so adding it to a negative bound cannot overflow.
            min(max(bound < 0 ? bound + count : bound, lowest), highest)
        }
        let from = start.map(resolve) ?? (step > 0 ? lowest : highest)
        let to = stop.map(resolve) ?? (step > 0 ? highest : lowest)
        self.start = from
        self.stop = step > 0 ? max(from, to) : min(from, to)
    }
}

extension Array {
    /// The element at an index, counted from the end if negative; nil if out of range.
    func element(at index: Int) -> Element? {
        let at = index < 0 ? index + count : index
        return indices.contains(at) ? self[at] : nil
    }
}

extension String.UnicodeScalarView {
    /// The index for a slice bound, clamped to the string.
    func position(_ offset: Int) -> Index {
        offset < 0
            ? index(endIndex, offsetBy: Swift.max(offset, -utf8Count), limitedBy: startIndex) ?? startIndex
            : index(startIndex, offsetBy: Swift.min(offset, utf8Count), limitedBy: endIndex) ?? endIndex
    }

    private var utf8Count: Int { String(self).utf8.count }
}
