/// Parses arguments written as one tag each.
struct TaggedArguments: Sendable {
    private enum State: Sendable {
        case between
        /// In the value of `key`: whether it is certainly text or JSON; part of a string may have been output.
        case value(key: [UInt8], isText: Bool, isJSON: Bool)
    }

    private let tags: Tags
    /// Markers that may follow the last argument.
    private let ends: [[UInt8]]
    private let schema: ArgumentSchema
    private var state = State.between
    /// The schema of the value, while in one.
    private var property = ArgumentSchema()
    private var isStringProperty = false
    private var count = 0
    private var hasBegun = false
    /// Number of bytes of the value that contain no end marker.
    private var searched = 0
    private var hasOpenedString = false
    private var isCDATA = false
    private(set) var isComplete = false

    /// The tags as bytes.
    struct Tags: Sendable {
        let keyOpen, beforeValue, afterValue, valueClose: [UInt8]
        /// The forms of text between key and value: for text, for JSON, or for both.
        let forms: [(parts: [MarkerPart], isText: Bool, isJSON: Bool)]
        let afterClosingKey: [UInt8]?
        let mayBeCDATA: Bool

        init(_ tags: ArgumentTags) {
            keyOpen = Array(tags.keyOpen.utf8)
            beforeValue = Array(tags.beforeValue.utf8)
            afterValue = Array(tags.afterValue.utf8)
            valueClose = Array(tags.valueClose.utf8)
            let isTyped = !tags.afterKeyOfJSON.isEmpty
            func parts(_ text: String) -> [MarkerPart] { pieces(text.utf8).map { .text(Array($0.utf8)) } }
            forms = [(parts(tags.afterKey), isTyped, false)] + tags.afterKeyOfJSON.map { (parts($0), false, true) }
            afterClosingKey = tags.afterClosingKey.map { Array($0.utf8) }
            mayBeCDATA = tags.mayBeCDATA
        }

        func close(of key: [UInt8]) -> [UInt8] { afterClosingKey.map { valueClose + key + $0 } ?? valueClose }
    }

    init(_ tags: ArgumentTags, ends: [[UInt8]], schema: ArgumentSchema) {
        self.tags = Tags(tags)
        self.ends = ends.filter { !$0.isEmpty }
        self.schema = schema
    }

    mutating func read(_ text: inout PendingText, isLast: Bool) -> [UInt8] {
        var json: [UInt8] = []
        while !isComplete {
            let isMoving =
                switch state {
                case .between: between(&text, isLast, &json)
                case .value(let key, let isText, let isJSON): value(&text, isLast, key, isText, isJSON, &json)
                }
            if !isMoving { break }
        }
        return json
    }

    private mutating func end(_ json: inout [UInt8]) {
        if count == 0 { json.append(UInt8(ascii: "{")) }
        json.append(UInt8(ascii: "}"))
        isComplete = true
    }

    private mutating func between(_ text: inout PendingText, _ isLast: Bool, _ json: inout [UInt8]) -> Bool {
        let place = text.afterSpace(text.cursor)
        guard place < text.bytes.count else {
            if isLast { end(&json) }
            return false
        }
        // Checked first, since a closing tag may begin like an argument's.
        for following in ends {
            switch text.match(following, at: place, isLast: isLast) {
            case .partial: return false
            case .full:
                end(&json)
                return false
            case .no: continue
            }
        }
        switch text.match(tags.keyOpen, at: place, isLast: isLast) {
        case .partial: return false
        case .no: end(&json)
        case .full(let start):
            switch key(text, start, isLast) {
            case .partial: return false
            case .no: end(&json)
            case .full(let found):
                text.cursor = found.end
                property = schema.property(String(decoding: found.key, as: UTF8.self))
                isStringProperty = property.isString
                state = .value(key: found.key, isText: found.isText, isJSON: found.isJSON)
                hasBegun = false
                hasOpenedString = false
                isCDATA = false
                searched = 0
                json.append(UInt8(ascii: count == 0 ? "{" : ","))
                json += jsonString(found.key) + [UInt8(ascii: ":")]
                count += 1
            }
        }
        return !isComplete
    }

    private func key(
        _ text: PendingText, _ start: Int, _ isLast: Bool
    ) -> Match<(key: [UInt8], end: Int, isText: Bool, isJSON: Bool)> {
        for end in start...(start + PendingText.longestIdentifier) {
            guard end < text.bytes.count else { return isLast ? .no : .partial }
            var isPartial = false
            for form in tags.forms {
                switch text.match(form.parts[...], at: end, isLast: isLast) {
                case .no: continue
                case .partial: isPartial = true
                case .full(let place):
                    guard end > start else { return .no }
                    return .full((Array(trim(Array(text.bytes[start..<end]))), place, form.isText, form.isJSON))
                }
            }
            if isPartial { return .partial }
        }
        return .no
    }

    private mutating func value(
        _ text: inout PendingText, _ isLast: Bool, _ key: [UInt8], _ isText: Bool, _ isJSON: Bool,
        _ json: inout [UInt8]
    ) -> Bool {
        if !hasBegun {
            switch text.match(tags.beforeValue, at: text.cursor, isLast: isLast) {
            case .partial: return false
            case .full(let place): text.cursor = place
            case .no: break
            }
            if tags.mayBeCDATA {
                switch text.match(Array("<![CDATA[".utf8), at: text.cursor, isLast: isLast) {
                case .partial: return false
                case .full(let place):
                    text.cursor = place
                    isCDATA = true
                case .no: break
                }
            }
            hasBegun = true
        }
        let isString = isText || !isJSON && isStringProperty
        var place = text.cursor + searched
        var found: (start: Int, end: Int)?
        search: while place < text.bytes.count {
            switch close(text, place, key, isLast) {
            case .no: place += 1
            case .partial: break search
            case .full(let end):
                found = (place, end)
                break search
            }
        }
        if isLast, found == nil, let cut = cutClose(text, key) {
            place = cut
            found = (cut, text.bytes.count)
        }
        let value = text.bytes[text.cursor..<place]
        if isString {
            if !hasOpenedString { json.append(UInt8(ascii: "\"")) }
            hasOpenedString = true
            json += jsonEscaped(value)
            text.cursor = place
            if found != nil { json.append(UInt8(ascii: "\"")) }
        } else if found != nil || isLast {
            json += tags.json(of: Array(value), property, isJSON: isJSON)
            text.cursor = place
        } else {
            searched = place - text.cursor
        }
        guard let found else { return false }
        text.cursor = found.end
        state = .between
        return true
    }

    /// Matches the closing tag of a value at a place. It must be followed by text that can follow an argument, since
    /// the value itself may contain its closing tag.
    private func close(_ text: PendingText, _ place: Int, _ key: [UInt8], _ isLast: Bool) -> Match<Int> {
        let close = (isCDATA ? Array("]]>".utf8) : []) + tags.close(of: key)
        var start = place
        if !tags.afterValue.isEmpty {
            switch text.match(tags.afterValue, at: place, isLast: isLast) {
            case .partial: return .partial
            case .full(let after): start = after
            case .no: break
            }
        }
        switch text.match(close, at: start, isLast: isLast) {
        case .partial: return .partial
        case .full(let end): return followed(text, end, isLast)
        case .no: break
        }
        guard start != place else { return .no }
        switch text.match(close, at: place, isLast: isLast) {
        case .partial: return .partial
        case .full(let end): return followed(text, end, isLast)
        case .no: return .no
        }
    }

    /// The place of a closing tag that the end of the answer cuts off.
    private func cutClose(_ text: PendingText, _ key: [UInt8]) -> Int? {
        let close = (isCDATA ? Array("]]>".utf8) : []) + tags.close(of: key)
        let start = max(text.cursor, text.bytes.count - close.count)
        // A single byte may well be the value's.
        guard start < text.bytes.count - 1,
            let place = (start..<(text.bytes.count - 1)).first(where: { close.starts(with: text.bytes[$0...]) })
        else { return nil }
        let before = text.bytes[text.cursor..<place]
        return before.reversed().starts(with: tags.afterValue.reversed()) ? place - tags.afterValue.count : place
    }

    private func followed(_ text: PendingText, _ end: Int, _ isLast: Bool) -> Match<Int> {
        let place = text.afterSpace(end)
        guard place < text.bytes.count else { return isLast ? .full(end) : .partial }
        var isPartial = false
        for following in [tags.keyOpen] + ends {
            switch text.match(following, at: place, isLast: isLast) {
            case .full: return .full(end)
            case .partial: isPartial = true
            case .no: continue
            }
        }
        if ends.isEmpty { return .full(end) }
        // What follows is cut off by the end of the answer.
        if isLast, ([tags.keyOpen] + ends).contains(where: { $0.starts(with: text.bytes[place...]) }) {
            return .full(end)
        }
        return isPartial ? .partial : .no
    }
}

extension TaggedArguments.Tags {
    /// The JSON of a complete value.
    func json(of value: [UInt8], _ schema: ArgumentSchema, isJSON: Bool, depth: Int = 0) -> [UInt8] {
        if isJSON {
            let text = trim(value)
            return JSONScanner.isValue(text) ? Array(text) : jsonString(value)
        }
        let kinds = schema.kinds
        let mayNest = kinds.map { !$0.contains(.string) } ?? true
        if afterClosingKey != nil, mayNest, depth < 32, let members = elements(trim(value)) {
            let isArray =
                kinds.map { $0.contains(.array) && (!$0.contains(.object) || isList(members)) } ?? isList(members)
            if isArray {
                let items = members.map { json(of: $0.value, schema.items, isJSON: false, depth: depth + 1) }
                return [UInt8(ascii: "[")] + items.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
            }
            let pairs = members.map { member in
                let property = schema.property(String(decoding: member.key, as: UTF8.self))
                return jsonString(member.key) + [UInt8(ascii: ":")]
                    + json(of: member.value, property, isJSON: false, depth: depth + 1)
            }
            return [UInt8(ascii: "{")] + pairs.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
        }
        return schema.json(of: value)
    }

    private func isList(_ members: [(key: [UInt8], value: [UInt8])]) -> Bool {
        members.allSatisfy { $0.key.elementsEqual("item".utf8) }
    }

    /// The elements of a value; `nil` if it does not consist of elements.
    private func elements(_ value: ArraySlice<UInt8>) -> [(key: [UInt8], value: [UInt8])]? {
        guard let form = forms.first?.parts else { return nil }
        let text = PendingText(bytes: Array(value))
        var members: [(key: [UInt8], value: [UInt8])] = []
        var place = 0
        while place < text.bytes.count {
            guard case .full(let start) = text.match(keyOpen, at: place, isLast: true) else { return nil }
            var end = start
            while end < text.bytes.count, isWord(text.bytes[end]) || text.bytes[end] == UInt8(ascii: "-") { end += 1 }
            guard end > start, case .full(let inside) = text.match(form[...], at: end, isLast: true) else { return nil }
            let key = Array(text.bytes[start..<end])
            // A nested element of the same name is not expected in arguments.
            guard let close = text.bytes[inside...].firstRange(of: close(of: key)) else { return nil }
            members.append((key, Array(text.bytes[inside..<close.lowerBound])))
            place = text.afterSpace(close.upperBound)
        }
        return members.isEmpty ? nil : members
    }
}
