/// Converts values in notations similar to JSON to JSON, incrementally: Python literals, and objects with bare keys and
/// custom string delimiters.
struct Notation: Sendable {
    private enum State: Sendable, Equatable {
        case value, key, separator, after
        /// Inside a string that ends with this quote.
        case string([UInt8], isKey: Bool)
        case ended
    }

    /// String delimiters.
    let quotes: [[UInt8]]
    /// Whether a backslash in a string is an escape, as in Python.
    let hasEscapes: Bool
    private var state = State.value
    /// The closing bracket in JSON for each open bracket.
    private var stack: [UInt8] = []
    private var needsComma = false

    /// Python values; the first one is a call's argument list, `(key=value, …)`.
    static var pythonArguments: Notation {
        var notation = Notation(quotes: [Array("\"".utf8), Array("'".utf8)], hasEscapes: true)
        notation.state = .value
        return notation
    }

    /// The JSON of a list or dictionary printed by Python; `nil` if `text` is not one.
    static func json(ofPython text: ArraySlice<UInt8>) -> [UInt8]? {
        guard let first = text.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
        var notation = pythonArguments
        var cursor = 0
        let json = notation.read(Array(text), &cursor, isLast: true)
        return cursor == text.count && JSONScanner.isValue(json) ? json : nil
    }

    init(quotes: [[UInt8]], hasEscapes: Bool) {
        self.quotes = quotes
        self.hasEscapes = hasEscapes
    }

    var isEnded: Bool { state == .ended }

    /// Converts the bytes from `cursor` on, as far as the result is final.
    mutating func read(_ bytes: [UInt8], _ cursor: inout Int, isLast: Bool) -> [UInt8] {
        var output: [UInt8] = []
        while state != .ended, step(bytes, &cursor, isLast, &output) {}
        return output
    }

    /// - Returns: Whether the cursor has advanced.
    private mutating func step(_ bytes: [UInt8], _ cursor: inout Int, _ isLast: Bool, _ output: inout [UInt8]) -> Bool {
        if case .string(let quote, let isKey) = state {
            return string(bytes, &cursor, isLast, quote, isKey, &output)
        }
        while cursor < bytes.count, isSpace(bytes[cursor]) { cursor += 1 }
        guard cursor < bytes.count else { return false }
        let byte = bytes[cursor]
        switch byte {
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ")"):
            cursor += 1
            guard let close = stack.popLast() else {
                state = .ended
                return false
            }
            output.append(close)
            valueEnded()
            return true
        case UInt8(ascii: ","):
            cursor += 1
            needsComma = true
            state = stack.last == UInt8(ascii: "}") ? .key : .value
            return true
        case UInt8(ascii: ":"), UInt8(ascii: "="):
            guard state == .separator else { break }
            cursor += 1
            state = .value
            return true
        default: break
        }
        if state == .after || state == .separator {  // a missing separator is tolerated
            if state == .after {
                needsComma = true
                state = stack.last == UInt8(ascii: "}") ? .key : .value
            } else {
                state = .value
            }
        }
        return state == .key
            ? key(bytes, &cursor, isLast, &output) : value(byte, bytes, &cursor, isLast, &output)
    }

    private mutating func valueEnded() { state = stack.isEmpty ? .ended : .after }

    private mutating func writeComma(_ output: inout [UInt8]) {
        if needsComma { output.append(UInt8(ascii: ",")) }
        needsComma = false
    }

    private mutating func value(
        _ byte: UInt8, _ bytes: [UInt8], _ cursor: inout Int, _ isLast: Bool, _ output: inout [UInt8]
    ) -> Bool {
        let isFirst = stack.isEmpty
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "("), UInt8(ascii: "["):
            guard stack.count < JSONScanner.maximumDepth else {
                state = .ended
                return false
            }
            cursor += 1
            if stack.last == UInt8(ascii: "]") { writeComma(&output) }
            needsComma = false
            let isObject = byte == UInt8(ascii: "{") || isFirst && byte == UInt8(ascii: "(")
            output.append(UInt8(ascii: isObject ? "{" : "["))
            stack.append(UInt8(ascii: isObject ? "}" : "]"))
            state = isObject ? .key : .value
            return true
        default: break
        }
        switch quote(bytes, cursor, isLast) {
        case .partial: return false
        case .full(let quote):
            cursor += quote.count
            if stack.last == UInt8(ascii: "]") { writeComma(&output) }
            output.append(UInt8(ascii: "\""))
            state = .string(quote, isKey: false)
            return true
        case .no: break
        }
        guard let word = word(bytes, cursor, isLast, until: ",}])".utf8) else { return false }
        cursor += word.count
        if stack.last == UInt8(ascii: "]") { writeComma(&output) }
        output += Self.json(ofWord: word)
        valueEnded()
        return true
    }

    private mutating func key(_ bytes: [UInt8], _ cursor: inout Int, _ isLast: Bool, _ output: inout [UInt8]) -> Bool {
        switch quote(bytes, cursor, isLast) {
        case .partial: return false
        case .full(let quote):
            cursor += quote.count
            writeComma(&output)
            output.append(UInt8(ascii: "\""))
            state = .string(quote, isKey: true)
            return true
        case .no: break
        }
        guard let word = word(bytes, cursor, isLast, until: ":=,}])".utf8) else { return false }
        cursor += word.count
        writeComma(&output)
        output += jsonString(word) + [UInt8(ascii: ":")]
        state = .separator
        return true
    }

    private enum QuoteMatch { case no, partial, full([UInt8]) }

    private func quote(_ bytes: [UInt8], _ cursor: Int, _ isLast: Bool) -> QuoteMatch {
        for quote in quotes {
            let rest = bytes[cursor...].prefix(quote.count)
            if rest.elementsEqual(quote) { return .full(quote) }
            if !isLast, quote.starts(with: rest) { return .partial }
        }
        return .no
    }

    /// Converts a bare word, once its end is seen.
    private func word(
        _ bytes: [UInt8], _ cursor: Int, _ isLast: Bool, until ends: String.UTF8View
    ) -> ArraySlice<UInt8>? {
        var end = bytes[cursor...].firstIndex { ends.contains($0) || $0 == 0x0a }
        if end == nil, isLast { end = bytes.count }
        guard let end else { return nil }
        var word = bytes[cursor..<max(end, cursor + 1)]
        while word.count > 1, let last = word.last, isSpace(last) { word.removeLast() }
        return word
    }

    private static func json(ofWord word: ArraySlice<UInt8>) -> [UInt8] {
        switch String(decoding: word, as: UTF8.self) {
        case "True": Array("true".utf8)
        case "False": Array("false".utf8)
        case "None": Array("null".utf8)
        default: JSONScanner.isValue(word) ? Array(word) : jsonString(word)
        }
    }

    private mutating func string(
        _ bytes: [UInt8], _ cursor: inout Int, _ isLast: Bool, _ quote: [UInt8], _ isKey: Bool,
        _ output: inout [UInt8]
    ) -> Bool {
        let start = cursor
        while cursor < bytes.count {
            let byte = bytes[cursor]
            let rest = bytes[cursor...].prefix(quote.count)
            if rest.elementsEqual(quote) {
                cursor += quote.count
                output.append(UInt8(ascii: "\""))
                if isKey {
                    output.append(UInt8(ascii: ":"))
                    state = .separator
                } else {
                    valueEnded()
                }
                return true
            }
            if !isLast, quote.starts(with: rest) { break }
            if hasEscapes, byte == UInt8(ascii: "\\") {
                guard let count = Self.escape(bytes[cursor...], &output) else { break }
                cursor += count
            } else {
                appendEscaped(byte, to: &output)
                cursor += 1
            }
        }
        return cursor > start
    }

    /// Converts the escape sequence at the beginning of `bytes` to JSON.
    ///
    /// - Returns: Its length; `nil` if it is incomplete.
    private static func escape(_ bytes: ArraySlice<UInt8>, _ output: inout [UInt8]) -> Int? {
        guard let kind = bytes.dropFirst().first else { return nil }
        switch kind {
        case UInt8(ascii: "n"), UInt8(ascii: "t"), UInt8(ascii: "r"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "/"):
            output += [UInt8(ascii: "\\"), kind]
            return 2
        case UInt8(ascii: "u"), UInt8(ascii: "x"):
            let count = kind == UInt8(ascii: "u") ? 4 : 2
            let digits = bytes.dropFirst(2).prefix(count)
            guard digits.allSatisfy(isHexDigit) else { break }
            guard digits.count == count else { return nil }
            output += "\\u".utf8 + (count == 2 ? Array("00".utf8) : []) + digits
            return 2 + count
        case UInt8(ascii: "'"):
            output.append(kind)
            return 2
        default: break
        }
        output += "\\\\".utf8
        return 1
    }
}
