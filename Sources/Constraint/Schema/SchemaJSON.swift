/// A JSON document for schemas: ordered properties, exact numbers, strings as UTF-8.
enum SchemaJSON: Sendable {
    case null
    case bool(Bool)
    case number(Decimal)
    case string([UInt8])
    case array([SchemaJSON])
    case object(Members)

    struct Members: Sendable {
        typealias Member = (key: [UInt8], keyword: Keyword?, value: SchemaJSON)

        private(set) var list: [Member] = []
        /// Empty while there are few keys, which are compared faster than hashed.
        private var index: [[UInt8]: Int] = [:]
        private static let fewKeys = 16

        init() {}

        subscript(_ key: String) -> SchemaJSON? {
            guard index.isEmpty else { return self[Array(key.utf8)] }
            let (bytes, count) = (key.utf8, key.utf8.count)
            return place { $0.key.count == count && $0.key.elementsEqual(bytes) }.map { list[$0].value }
        }
        subscript(_ keyword: Keyword) -> SchemaJSON? {
            guard index.isEmpty else { return self[Array(keyword.rawValue.utf8)] }
            return place { $0.keyword == keyword }.map { list[$0].value }
        }
        subscript(_ key: [UInt8]) -> SchemaJSON? { place(of: key).map { list[$0].value } }

        private func place(of key: [UInt8]) -> Int? {
            index.isEmpty ? place { $0.key == key } : index[key]
        }

        /// The first member for which `isWanted` is true. Unlike `firstIndex`, it does not retain each on the way.
        @inline(__always)
        private func place(where isWanted: (borrowing Member) -> Bool) -> Int? {
            list.withUnsafeBufferPointer { list in
                for place in list.indices where isWanted(list[place]) { return place }
                return nil
            }
        }
        var isEmpty: Bool { list.isEmpty }
        var count: Int { list.count }

        func without(_ keywords: Set<Keyword>) -> Members {
            var rest = Members()
            for member in list where member.keyword.map({ !keywords.contains($0) }) ?? true {
                rest.set(member.key, member.value)
            }
            return rest
        }

        /// Sets a property; of duplicate keys the last counts, as in most parsers.
        mutating func set(_ key: [UInt8], _ value: SchemaJSON) {
            if let place = place(of: key) {
                list[place].value = value
                return
            }
            list.append((key, Keyword(key), value))
            if list.count == Self.fewKeys {
                for (place, member) in list.enumerated() { index[member.key] = place }
            } else if list.count > Self.fewKeys {
                index[key] = list.count - 1
            }
        }
    }

    /// The kind of value for messages, such as `null`, `"text"`, `{…}`.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// A form that is the same for equal values: numbers by value, properties sorted.
    var canonical: [UInt8] {
        var out: [UInt8] = []
        write(to: &out)
        return out
    }

    private func write(to out: inout [UInt8]) {
        switch self {
        case .null: out += "n".utf8
        case .bool(let value): out += (value ? "t" : "f").utf8
        case .number(let value): out += "#\(value)\(value.isCut ? "+" : "");".utf8
        case .string(let text): out += "\"\(text.count):".utf8 + text
        case .array(let items):
            out += "[".utf8
            for item in items { item.write(to: &out) }
            out += "]".utf8
        case .object(let members):
            out += "{".utf8
            for member in members.list.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                SchemaJSON.string(member.key).write(to: &out)
                member.value.write(to: &out)
            }
            out += "}".utf8
        }
    }
}

/// Parses JSON strictly (RFC 8259), with limited nesting.
struct JSONReader {
    struct Failure: Error {
        let message: String
        let offset: Int
    }

    private let bytes: ArraySlice<UInt8>
    private var index: Int
    static let maximumDepth = 200

    static func read(_ bytes: ArraySlice<UInt8>) throws(Failure) -> SchemaJSON {
        var reader = JSONReader(bytes: bytes, index: bytes.startIndex)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.index == bytes.endIndex else { throw reader.failure("something follows the value") }
        return value
    }

    private func failure(_ message: String) -> Failure { Failure(message: message, offset: index - bytes.startIndex) }
    private var next: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, WhitespaceSlice.isWhitespace(byte) { index += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard next == byte else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) throws(Failure) -> SchemaJSON {
        guard depth <= Self.maximumDepth else { throw failure("nested more than \(Self.maximumDepth) deep") }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["):
            index += 1
            var items: [SchemaJSON] = []
            if take(UInt8(ascii: "]")) { return .array(items) }
            repeat { items.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "]")) else { throw failure("',' or ']' is expected") }
            return .array(items)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws(Failure) -> SchemaJSON {
        index += 1
        var members = SchemaJSON.Members()
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw failure("a property's name is expected") }
            let key = try string()
            guard take(UInt8(ascii: ":")) else { throw failure("':' is expected") }
            members.set(key, try value(depth: depth + 1))
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw failure("',' or '}' is expected") }
        return .object(members)
    }

    private mutating func word(_ text: StaticString, _ value: SchemaJSON) throws(Failure) -> SchemaJSON {
        let count = text.utf8CodeUnitCount
        guard index + count <= bytes.endIndex,
            bytes[index..<(index + count)].elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: count))
        else { throw failure("not a JSON value") }
        index += count
        return value
    }

    private mutating func number() throws(Failure) -> SchemaJSON {
        let start = index
        var state = NumberSyntax.start
        while let byte = next {
            let after = state.step(byte)
            if after == .refused { break }
            state = after
            index += 1
        }
        guard state.isEnd else { throw failure("not a JSON value") }
        return .number(Decimal(text: bytes[start..<index]))
    }

    private mutating func string() throws(Failure) -> [UInt8] {
        index += 1
        // Most are plain ASCII.
        var end = index
        while end < bytes.endIndex, (0x20..<0x80).contains(bytes[end]), bytes[end] != UInt8(ascii: "\\") {
            if bytes[end] == UInt8(ascii: "\"") {
                defer { index = end + 1 }
                return Array(bytes[index..<end])
            }
            end += 1
        }
        var text = Array(bytes[index..<end])
        index = end
        var utf8: UInt8 = 0
        while let byte = next {
            index += 1
            if utf8 == 0, byte == UInt8(ascii: "\"") { return text }
            if utf8 == 0, byte == UInt8(ascii: "\\") {
                try escape(into: &text)
                continue
            }
            guard byte >= 0x20 else { throw failure("a control character in a string") }
            utf8 = UTF8State.step(utf8, byte)
            guard utf8 != UTF8State.refused else { throw failure("invalid UTF-8") }
            text.append(byte)
        }
        throw failure("a string does not end")
    }

    private mutating func escape(into text: inout [UInt8]) throws(Failure) {
        guard let byte = next else { throw failure("a string does not end") }
        index += 1
        if let plain = StringSyntax.escaped(byte) { return text.append(plain) }
        guard byte == UInt8(ascii: "u") else { throw failure("invalid escape in a string") }
        var unit = try hexadecimal()
        if (0xd800...0xdbff).contains(unit) {
            guard index + 1 < bytes.endIndex, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u")
            else { throw failure("a lone surrogate") }
            index += 2
            let low = try hexadecimal()
            guard (0xdc00...0xdfff).contains(low) else { throw failure("a lone surrogate") }
            unit = 0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00)
        }
        guard !(0xdc00...0xdfff).contains(unit) else { throw failure("a lone surrogate") }
        text += CharacterSet.encode(unit)
    }

    private mutating func hexadecimal() throws(Failure) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = StringSyntax.hexadecimal(byte) else {
                throw failure("invalid \\u escape")
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }
}

/// The syntax of JSON numbers, as a state machine over bytes.
enum NumberSyntax: UInt8 {
    case start, minus, zero, digits, point, fraction, e, exponentSign, exponent, refused

    @inline(__always)
    func step(_ byte: UInt8) -> NumberSyntax {
        let isDigit = byte &- 48 < 10
        switch self {
        case .start: return byte == 45 ? .minus : byte == 48 ? .zero : isDigit ? .digits : .refused
        case .minus: return byte == 48 ? .zero : isDigit ? .digits : .refused
        case .zero, .digits:
            if isDigit { return self == .zero ? .refused : .digits }
            return byte == 46 ? .point : byte | 32 == 101 ? .e : .refused
        case .point: return isDigit ? .fraction : .refused
        case .fraction: return isDigit ? .fraction : byte | 32 == 101 ? .e : .refused
        case .e: return isDigit ? .exponent : byte == 43 || byte == 45 ? .exponentSign : .refused
        case .exponentSign: return isDigit ? .exponent : .refused
        case .exponent: return isDigit ? .exponent : .refused
        case .refused: return .refused
        }
    }

    /// Whether a number may end here.
    var isEnd: Bool {
        switch self {
        case .zero, .digits, .fraction, .exponent: true
        default: false
        }
    }
}

enum StringSyntax {
    /// The byte that an escape `\x` represents, except `\u`.
    @inline(__always)
    static func escaped(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte
        case UInt8(ascii: "b"): 8
        case UInt8(ascii: "f"): 12
        case UInt8(ascii: "n"): 10
        case UInt8(ascii: "r"): 13
        case UInt8(ascii: "t"): 9
        default: nil
        }
    }

    static let mustBeEscaped: [UInt8] = Array(0..<0x20) + [UInt8(ascii: "\""), UInt8(ascii: "\\")]
    static func hasShortEscape(_ byte: UInt8) -> Bool { byte >= 0x20 || [8, 9, 10, 12, 13].contains(byte) }

    @inline(__always)
    static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - 48
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - 87
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - 55
        default: nil
        }
    }
}
