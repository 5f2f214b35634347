extension Renderer {
    func orderFilter(_ filter: JinjaFilter, _ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        switch filter {
        case .dictsort: return try dictSort(value, arguments)
        case .sort:
            let foldsCase = !(arguments[1]?.isTruthy ?? false)
            let paths = try sortPaths(arguments[2].given)
            let keyed = try keyed(try iterate(value)) { (item) throws(TemplateError) in
                var keys: [Value] = []
                for path in paths { keys.append(try fold(try path.get(item, missing: nil, self), foldsCase)) }
                return .list(Items(keys))
            }
            return try list(try sorted(keyed, reverse: arguments[0]?.isTruthy ?? false).map(\.item))
        case .unique: return try unique(value, arguments)
        case .groupby: return try groupBy(value, arguments)
        default: return try extreme(value, arguments, isMaximum: filter == .max)
        }
    }

    private typealias Keyed = (key: Value, item: Value)

    private func keyed(
        _ items: [Value], _ key: (Value) throws(TemplateError) -> Value
    ) throws(TemplateError) -> [Keyed] {
        var result: [Keyed] = []
        result.reserveCapacity(items.count)
        for item in items { result.append((try key(item), item)) }
        return result
    }

    /// Lowercases strings if `foldsCase` is true.
    private func fold(_ value: Value, _ foldsCase: Bool) throws(TemplateError) -> Value {
        guard foldsCase, let text = value.text else { return value }
        try charge(bytes: text.utf8.count)
        return .string(text.loweredScalars)
    }

    private func sortPaths(_ attribute: Value?) throws(TemplateError) -> [AttributePath] {
        guard let text = attribute?.text else { return [try AttributePath(attribute ?? .null, self)] }
        try charge(text.utf8.count)
        let names = text.split(separator: ",", omittingEmptySubsequences: false)
        return try names.map { (name) throws(TemplateError) in try AttributePath(.string(String(name)), self) }
    }

    /// A stable merge sort, since comparing can fail.
    private func sorted(_ items: [Keyed], reverse: Bool) throws(TemplateError) -> [Keyed] {
        var items = items
        var width = 1
        while width < items.count {
            var merged: [Keyed] = []
            merged.reserveCapacity(items.count)
            for start in stride(from: 0, to: items.count, by: 2 * width) {
                let middle = min(start + width, items.count)
                let end = min(start + 2 * width, items.count)
                var (left, right) = (start, middle)
                while left < middle, right < end {
                    try charge()
                    let order = try order(items[right].key, items[left].key) ?? 0
                    if reverse ? order > 0 : order < 0 {
                        merged.append(items[right])
                        right += 1
                    } else {
                        merged.append(items[left])
                        left += 1
                    }
                }
                merged += items[left..<middle] + items[right..<end]
            }
            items = merged
            width *= 2
        }
        return items
    }

    private func dictSort(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        if case .undefined(let undefined) = value { throw fail(undefined) }
        guard case .dict(let dict) = value else { throw fail("dictsort needs a mapping, not \(value.typeName)") }
        let foldsCase = !(arguments[0]?.isTruthy ?? false)
        let by = try string(arguments[1] ?? .string("key"), "by")
        guard by == "key" || by == "value" else { throw fail("you can only sort by either \"key\" or \"value\"") }
        var items: [Keyed] = []
        items.reserveCapacity(dict.count)
        for (key, value) in dict.entries {
            items.append((try fold(by == "key" ? key : value, foldsCase), .tuple(Items([key, value]))))
        }
        return try list(try sorted(items, reverse: arguments[2]?.isTruthy ?? false).map(\.item))
    }

    private func unique(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let path = try AttributePath(arguments[1] ?? .null, self)
        let foldsCase = !(arguments[0]?.isTruthy ?? false)
        var seen: Set<HashedKey> = []
        var kept: [Value] = []
        for item in try iterate(value) {
            let key = try fold(try path.get(item, missing: nil, self), foldsCase)
            guard try isHashable(key) else { throw fail("unhashable type: '\(key.typeName)'") }
            if seen.insert(HashedKey(key)).inserted { kept.append(item) }
        }
        return try generator(kept)
    }

    private func groupBy(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let path = try AttributePath(arguments[0] ?? .null, self)
        let missing = arguments[1].given
        let foldsCase = !(arguments[2]?.isTruthy ?? false)
        let items = try keyed(try iterate(value)) { (item) throws(TemplateError) in
            try fold(try path.get(item, missing: missing, self), foldsCase)
        }
        var groups: [(key: Value, items: [Value])] = []
        for (key, item) in try sorted(items, reverse: false) {
            if let last = groups.last, try areEqual(last.key, key) {
                groups[groups.count - 1].items.append(item)
            } else {
                groups.append((key, [item]))
            }
        }
        var result: [Value] = []
        for group in groups {
            let grouper = try path.get(group.items[0], missing: missing, self)
            result.append(try object(Group(grouper: grouper, list: try list(group.items))))
        }
        return try list(result)
    }

    private func extreme(_ value: Value, _ arguments: [Value?], isMaximum: Bool) throws(TemplateError) -> Value {
        let path = try AttributePath(arguments[1] ?? .null, self)
        let foldsCase = !(arguments[0]?.isTruthy ?? false)
        var best: Keyed?
        for item in try iterate(value) {
            let key = try fold(try path.get(item, missing: nil, self), foldsCase)
            guard let current = best else {
                best = (key, item)
                continue
            }
            let order = try order(key, current.key) ?? 0
            if isMaximum ? order > 0 : order < 0 { best = (key, item) }
        }
        return best?.item ?? .undefined(Undefined("No aggregated item, sequence was empty."))
    }
}
