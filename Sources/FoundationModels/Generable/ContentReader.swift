/// Parses JSON text (RFC 8259) that may be cut off.
struct ContentReader {
    struct Failure: Error {
        let expected: String
        let position: Int
    }

    /// Maximum nesting of arrays and objects: parsing and walking the value both recurse.
    static let maximumDepth = 128

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// - Returns: An incomplete `null` if the text has no value yet.
    mutating func read(_ id: GenerationID) throws(Failure) -> GeneratedContent {
        let content = try value(id)
        skipSpace()
        guard position == bytes.count else { throw failure("the end") }
        return content ?? GeneratedContent(kind: .null, id: id, isComplete: false)
    }

    /// - Returns: `nil` if the text ends before the value can be shown.
    private mutating func value(_ id: GenerationID) throws(Failure) -> GeneratedContent? {
        skipSpace()
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try object(id)
        case UInt8(ascii: "["): return try array(id)
        case UInt8(ascii: "\""):
            let (text, isComplete) = try string()
            return GeneratedContent(kind: .string(text), id: id, isComplete: isComplete)
        case UInt8(ascii: "t"): return try literal("true", .bool(true), id)
        case UInt8(ascii: "f"): return try literal("false", .bool(false), id)
        case UInt8(ascii: "n"): return try literal("null", .null, id)
        default: return try number(id)
        }
    }

    private mutating func object(_ id: GenerationID) throws(Failure) -> GeneratedContent {
        var (properties, keys): ([String: GeneratedContent], [String]) = ([:], [])
        let isComplete = try elements(until: UInt8(ascii: "}")) { reader throws(Failure) in
            guard reader.byte == UInt8(ascii: "\"") else { throw reader.failure("a key") }
            let (key, isWhole) = try reader.string()
            reader.skipSpace()
            guard isWhole, let colon = reader.byte else { return false }
            guard colon == UInt8(ascii: ":") else { throw reader.failure("':'") }
            reader.position += 1
            guard let value = try reader.value(id.inside(key)) else { return false }
            // For a repeated key the last value counts.
            if properties.updateValue(value, forKey: key) == nil { keys.append(key) }
            return value.isComplete
        }
        return GeneratedContent(
            kind: .structure(properties: properties, orderedKeys: keys), id: id, isComplete: isComplete)
    }

    private mutating func array(_ id: GenerationID) throws(Failure) -> GeneratedContent {
        var values: [GeneratedContent] = []
        let isComplete = try elements(until: UInt8(ascii: "]")) { reader throws(Failure) in
            guard let value = try reader.value(id.inside(String(values.count))) else { return false }
            values.append(value)
            return value.isComplete
        }
        return GeneratedContent(kind: .array(values), id: id, isComplete: isComplete)
    }

    /// Parses comma-separated elements after an opening bracket.
    ///
    /// - Parameter element: Parses one element and returns whether it was complete; called with at least one byte left.
    /// - Returns: Whether the closing bracket was found.
    private mutating func elements(
        until closing: UInt8, _ element: (inout ContentReader) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        guard depth < Self.maximumDepth else { throw failure("at most \(Self.maximumDepth) levels") }
        depth += 1
        defer { depth -= 1 }
        position += 1
        var isFirst = true
        while true {
            skipSpace()
            guard let next = byte else { return false }
            if next == closing, isFirst {
                position += 1
                return true
            }
            guard try element(&self) else { return false }
            isFirst = false
            skipSpace()
            switch byte {
            case nil: return false
            case closing:
                position += 1
                return true
            case UInt8(ascii: ","): position += 1
            default: throw failure("',' or the end of the list or object")
            }
        }
    }

    /// - Returns: The text without an incomplete last character, and whether the closing quote was found.
    private mutating func string() throws(Failure) -> (String, Bool) {
        position += 1
        var text: [UInt8] = []
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return (String(decoding: text, as: UTF8.self), true)
            case UInt8(ascii: "\\"):
                guard let character = try escape() else {
                    position = bytes.count
                    return (String(decoding: text, as: UTF8.self), false)
                }
                text += Array(String(character).utf8)
            case ..<0x20: throw failure("no control character in a string")
            default:
                text.append(byte)
                position += 1
            }
        }
        return (String(decoding: text, as: UTF8.self), false)
    }

    /// - Returns: `nil` if the text ends within the escape.
    private mutating func escape() throws(Failure) -> Unicode.Scalar? {
        guard position + 1 < bytes.count else { return nil }
        let kind = bytes[position + 1]
        position += 2
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let unit = try hexadecimal() else { return nil }
            guard UTF16.isLeadSurrogate(unit) else {
                guard let scalar = Unicode.Scalar(unit) else { throw failure("a surrogate pair") }
                return scalar
            }
            for mark in [UInt8(ascii: "\\"), UInt8(ascii: "u")] {
                guard let byte else { return nil }
                guard byte == mark else { throw failure("a surrogate pair") }
                position += 1
            }
            guard let trail = try hexadecimal() else { return nil }
            guard UTF16.isTrailSurrogate(trail) else { throw failure("a surrogate pair") }
            return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(trail) - 0xDC00))
        default: throw failure("a character that can be escaped")
        }
    }

    /// Four digits; `nil` if the text ends within them.
    private mutating func hexadecimal() throws(Failure) -> UInt16? {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte else { return nil }
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw failure("a hexadecimal digit")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    private mutating func literal(
        _ word: StaticString, _ kind: GeneratedContent.Kind, _ id: GenerationID
    ) throws(Failure) -> GeneratedContent? {
        for index in 0..<word.utf8CodeUnitCount {
            guard let byte else { return nil }
            guard byte == word.utf8Start[index] else { throw failure("'\(word)'") }
            position += 1
        }
        return GeneratedContent(kind: kind, id: id)
    }

    /// - Returns: `nil` for a number that may continue; at the top level the end of the text ends it.
    private mutating func number(_ id: GenerationID) throws(Failure) -> GeneratedContent? {
        let start = position
        skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try digits() }
        if skip(UInt8(ascii: ".")) { try digits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "-")) { skip(UInt8(ascii: "+")) }
            try digits()
        }
        // It may continue, or end in a sign, point or exponent.
        let isEnd = position == bytes.count
        if isEnd, depth > 0 || !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position - 1]) { return nil }
        guard let number = Double(String(decoding: bytes[start..<position], as: UTF8.self)), number.isFinite else {
            throw failure("a number that a Double can hold")
        }
        return GeneratedContent(kind: .number(number), id: id)
    }

    /// At least one digit, unless the text ends before it.
    private mutating func digits() throws(Failure) {
        let start = position
        while let byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start || position == bytes.count else { throw failure("a value") }
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    @discardableResult private mutating func skip(_ expected: UInt8) -> Bool {
        guard byte == expected else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B && byte != 0x0C { position += 1 }
    }

    private func failure(_ expected: String) -> Failure { Failure(expected: expected, position: position) }
}
