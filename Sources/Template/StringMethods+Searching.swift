extension Renderer {
    func hasAffix(_ method: StringMethod, _ text: String, _ arguments: [Value?]) throws(TemplateError) -> Bool {
        let part = try window(text, arguments)?.text
        let affixes: [Value]
        if case .tuple(let items) = arguments[0] { affixes = items.values } else { affixes = [arguments[0] ?? .null] }
        for affix in affixes {
            try charge(reading: affix)
            let affix = try string(affix, "\(method.rawValue) first arg")
            guard let part else { continue }
            if method == .startswith ? part.starts(withScalars: affix) : part.ends(withScalars: affix) { return true }
        }
        return false
    }

    /// The part between `start` and `end`, with the number of scalars before it; nil if `start` is after the end.
    private func window(_ text: String, _ arguments: [Value?]) throws(TemplateError) -> (text: String, offset: Int)? {
        guard arguments[1].given != nil || arguments[2].given != nil else { return (text, 0) }
        let scalars = text.unicodeScalars
        let count = scalars.count
        func bound(_ value: Value?, _ missing: Int) throws(TemplateError) -> Int {
            guard let value = value.given else { return missing }
            let bound = try integer(value, "slice index")
            return bound < 0 ? max(bound + count, 0) : bound
        }
        let start = try bound(arguments[1], 0)
        let end = min(try bound(arguments[2], count), count)
        guard start <= end else { return nil }
        return (String(scalars[scalars.position(start)..<scalars.position(end)]), start)
    }

    func search(_ method: StringMethod, _ text: String, _ arguments: [Value?]) throws(TemplateError) -> Int {
        let part = try string(arguments[0] ?? .null, "substring")
        let window = try window(text, arguments)
        if method == .count {
            guard let window else { return 0 }
            if part.isEmpty { return window.text.unicodeScalars.count + 1 }
            return window.text.occurrences(ofScalars: part)
        }
        let isFromEnd = method == .rfind || method == .rindex
        if let (text, offset) = window {
            let found = isFromEnd ? text.lastRanges(ofScalars: part, limit: 1).first : text.firstRange(ofScalars: part)
            if let found { return offset + text.unicodeScalars.distance(from: text.startIndex, to: found.lowerBound) }
        }
        if method == .index || method == .rindex { throw fail("substring not found") }
        return -1
    }

    func replace(_ text: String, _ old: String, _ new: String, _ count: Int) throws(TemplateError) -> String {
        try charge(bytes: text.utf8.count)
        let limit = count < 0 ? Int.max : count
        if old.isEmpty { return try interleave(text, new, limit) }
        let occurrences = text.occurrences(ofScalars: old, limit: limit)
        let (bytes, old, new) = (Array(text.utf8), Array(old.utf8), Array(new.utf8))
        if occurrences == 0 { return text }
        try chargeGrowth(bytes.count, new.count, times: occurrences)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + occurrences * (new.count - min(new.count, old.count)))
        var start = 0
        ByteSearch.forEach(old, in: bytes, limit: limit) { offset in
            result += bytes[start..<offset]
            result += new
            start = offset + old.count
        }
        result += bytes[start...]
        return String(decoding: result, as: UTF8.self)
    }

    /// Replacing an empty string inserts `new` around every scalar.
    private func interleave(_ text: String, _ new: String, _ limit: Int) throws(TemplateError) -> String {
        try chargeGrowth(text.utf8.count, new.utf8.count, times: min(limit, text.utf8.count + 1))
        var result = ""
        var left = limit
        for scalar in text.unicodeScalars {
            if left > 0 { result += new }
            left = max(left - 1, 0)
            result.unicodeScalars.append(scalar)
        }
        return left > 0 ? result + new : result
    }

    private func chargeGrowth(_ size: Int, _ piece: Int, times: Int) throws(TemplateError) {
        let (growth, overflow) = piece.multipliedReportingOverflow(by: times)
        guard !overflow, growth <= limits.outputBytes - min(size, limits.outputBytes) else {
            throw fail("the template builds a text of more than \(limits.outputBytes) bytes", .limit)
        }
        try charge(times)
        try charge(bytes: size + growth)
    }

    func join(_ values: [Value], _ separator: String, onlyStrings: Bool) throws(TemplateError) -> String {
        var result = ""
        for (index, value) in values.enumerated() {
            if onlyStrings, value.text == nil {
                throw fail("sequence item \(index): expected str instance, \(value.typeName) found")
            }
            let piece = try string(value)
            try charge(bytes: piece.utf8.count + separator.utf8.count)
            if index > 0 { result += separator }
            _ = try checked(result)
            result += piece
            _ = try checked(result)
        }
        return result
    }
}
