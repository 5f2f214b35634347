extension Renderer {
    func sequenceFilter(_ filter: JinjaFilter, _ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        switch filter {
        case .first:
            if case .object(let generator as Generator) = value { return generator.next() ?? missing("first") }
            if let text = value.text {
                return text.unicodeScalars.first.map { .string(String($0)) } ?? missing("first")
            }
            return try iterate(value).first ?? missing("first")
        case .last:
            if case .object(is Generator) = value { throw fail("'generator' object is not reversible") }
            if let text = value.text { return text.unicodeScalars.last.map { .string(String($0)) } ?? missing("last") }
            return try iterate(value).last ?? missing("last")
        case .list: return try list(try iterate(value))
        case .items:
            if value.isUndefined { return try generator([]) }
            guard case .dict(let dict) = value else { throw fail("Can only get item pairs from a mapping.") }
            return try generator(dict.entries.map { .tuple(Items([$0, $1])) })
        case .reverse:
            if let text = value.text { return .string(String(Array(text.unicodeScalars.reversed()))) }
            let reversed = Array(try iterate(value).reversed())
            if case .object(is Generator) = value { return try list(reversed) }
            return try generator(reversed)
        case .batch: return try batch(value, arguments)
        default: return try sliceFilter(value, arguments)
        }
    }

    private func missing(_ which: String) -> Value {
        .undefined(Undefined("No \(which) item, sequence was empty."))
    }

    private func batch(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let count = try integer(arguments[0] ?? .null, "linecount")
        let items = try iterate(value)
        var batches: [Value] = []
        var current: [Value] = []
        for item in items {
            if current.count == count {
                batches.append(try list(current))
                current = []
            }
            current.append(item)
        }
        if !current.isEmpty {
            if let filler = arguments[1].given, current.count < count {
                guard count <= Renderer.maximumWeight else { throw fail("the batch is too long", .limit) }
                current += repeatElement(filler, count: count - current.count)
            }
            batches.append(try list(current))
        }
        return try generator(batches)
    }

    private func sliceFilter(_ value: Value, _ arguments: [Value?]) throws(TemplateError) -> Value {
        let count = try integer(arguments[0] ?? .null, "slices")
        let items = try iterate(value)
        guard count != 0 else { throw fail("integer division or modulo by zero") }
        guard count > 0 else { return try generator([]) }
        try charge(count)
        let (size, extra) = items.count.quotientAndRemainder(dividingBy: count)
        var slices: [Value] = []
        var start = 0
        for index in 0..<count {
            let end = start + size + (index < extra ? 1 : 0)
            var slice = Array(items[start..<end])
            if let filler = arguments[1].given, index >= extra { slice.append(filler) }
            slices.append(try list(slice))
            start = end
        }
        return try generator(slices)
    }
}
