extension JSON {
    /// What a parser refuses.
    public struct Limits: Sendable {
        /// Nesting of arrays and objects. Parsing and decoding are recursive.
        public var depth: Int
        /// Values and names together. Each takes up to 64 bytes of memory.
        public var values: Int
        /// Whether an object may have a name twice; then the last one counts.
        public var allowsDuplicates: Bool

        public init(depth: Int, values: Int = .max, allowsDuplicates: Bool = true) {
            self.depth = depth
            self.values = values
            self.allowsDuplicates = allowsDuplicates
        }
    }

    /// Why bytes were refused.
    public struct SyntaxError: Error, Sendable, CustomStringConvertible {
        public enum Cause: Sendable { case malformed, tooManyValues }

        public var cause: Cause
        /// Without its place: "',' or ']' is expected".
        public var message: String
        /// Bytes before the error.
        public var offset: Int

        public var description: String { "\(message) at byte \(offset)" }
    }

    /// Parses JSON strictly (RFC 8259): UTF-8 without a byte order mark, no lone surrogates.
    public init(parsing bytes: [UInt8], _ limits: Limits) throws(SyntaxError) {
        try self.init(parsing: bytes[...], limits)
    }

    public init(parsing text: String, _ limits: Limits) throws(SyntaxError) {
        try self.init(parsing: Array(text.utf8), limits)
    }

    public init(parsing bytes: ArraySlice<UInt8>, _ limits: Limits) throws(SyntaxError) {
        // A result, as Swift 6.0's `withUnsafeBufferPointer` does not pass on an error's type.
        self = try bytes.withUnsafeBufferPointer { bytes in
            Result { () throws(SyntaxError) in
                var parser = Parser(bytes: bytes, limits: limits)
                return try parser.whole()
            }
        }.get()
    }
}

private struct Parser {
    let bytes: UnsafeBufferPointer<UInt8>
    let limits: JSON.Limits
    private var place = 0
    private var values = 0
    /// The last string with escapes.
    private var unescaped: [UInt8] = []

    init(bytes: UnsafeBufferPointer<UInt8>, limits: JSON.Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func whole() throws(JSON.SyntaxError) -> JSON {
        guard !bytes.isEmpty else { throw failure("it is empty") }
        guard !bytes.starts(with: [0xef, 0xbb, 0xbf]) else { throw failure("it begins with a byte order mark") }
        let value = try value(depth: 0)
        skipSpace()
        guard place == bytes.count else { throw unexpected("something follows the value") }
        return value
    }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private func failure(_ message: String, _ cause: JSON.SyntaxError.Cause = .malformed) -> JSON.SyntaxError {
        JSON.SyntaxError(cause: cause, message: message, offset: place)
    }

    /// - Parameter message: What is wrong with the next byte, unless that is never valid.
    private func unexpected(_ message: String) -> JSON.SyntaxError {
        next == 0 ? failure("a NUL byte") : failure(message)
    }

    private mutating func skipSpace() {
        while place < bytes.count, bytes[place] <= 0x20 {
            guard [0x20, 0x0a, 0x0d, 0x09].contains(bytes[place]) else { return }
            place += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard next == byte else { return false }
        place += 1
        return true
    }

    private mutating func count() throws(JSON.SyntaxError) {
        values += 1
        if values > limits.values { throw failure("more than \(limits.values) values and names", .tooManyValues) }
    }

    private mutating func value(depth: Int) throws(JSON.SyntaxError) -> JSON {
        skipSpace()
        try count()
        switch next {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard depth < limits.depth else { throw failure("nested more than \(limits.depth) deep") }
            let isObject = next == UInt8(ascii: "{")
            place += 1
            return isObject ? .object(try members(depth: depth + 1)) : .array(try elements(depth: depth + 1))
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func elements(depth: Int) throws(JSON.SyntaxError) -> [JSON] {
        var elements: [JSON] = []
        if take(UInt8(ascii: "]")) { return elements }
        repeat { elements.append(try value(depth: depth)) } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw unexpected("',' or ']' is expected") }
        return elements
    }

    private mutating func members(depth: Int) throws(JSON.SyntaxError) -> JSON.Object {
        var object = JSON.Object()
        if take(UInt8(ascii: "}")) { return object }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw unexpected("a member's name is expected") }
            let start = place
            try count()
            let name = try string()
            guard take(UInt8(ascii: ":")) else { throw unexpected("':' is expected") }
            let value = try value(depth: depth)
            guard !object.append(name, value) else { continue }
            guard limits.allowsDuplicates else {
                place = start
                throw failure("duplicate key \"\(name.prefix(100))\"")
            }
            object[name] = value
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw unexpected("',' or '}' is expected") }
        return object
    }

    private mutating func word(_ text: StaticString, _ value: JSON) throws(JSON.SyntaxError) -> JSON {
        let word = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[place...].starts(with: word) else { throw unexpected("not a JSON value") }
        place += word.count
        return value
    }

    private func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[range])
    }

    // MARK: Numbers

    private mutating func number() throws(JSON.SyntaxError) -> JSON.Number {
        let start = place
        if next == UInt8(ascii: "-") { place += 1 }
        if next == UInt8(ascii: "0") { place += 1 } else { try digits(from: start) }
        if next == UInt8(ascii: ".") {
            place += 1
            try digits(from: start)
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            place += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
            try digits(from: start)
        }
        return JSON.Number(checked: String(decoding: text(start..<place), as: UTF8.self))
    }

    private mutating func digits(from start: Int) throws(JSON.SyntaxError) {
        let first = place
        while let byte = next, byte &- UInt8(ascii: "0") < 10 { place += 1 }
        guard place == first else { return }
        let message = place == start ? "a value is expected" : "a digit is expected"
        throw unexpected(next.map { $0 > 0x20 } == true && place == start ? "not a JSON value" : message)
    }

    // MARK: Strings

    /// - Precondition: The next byte is a quote.
    private mutating func string() throws(JSON.SyntaxError) -> String {
        place += 1
        let start = place
        var isASCII = passPlain()
        if next == UInt8(ascii: "\"") {
            place += 1
            return try checked(decoded(text(start..<place - 1), isASCII))
        }
        unescaped.removeAll(keepingCapacity: true)
        var run = start
        while let byte = next {
            unescaped.append(contentsOf: text(run..<place))
            switch byte {
            case UInt8(ascii: "\""):
                place += 1
                return try checked(unescaped.withUnsafeBufferPointer { decoded($0, isASCII) })
            case UInt8(ascii: "\\"):
                place += 1
                let scalar = try escape()
                unescaped.append(contentsOf: UTF8.encode(scalar)!)  // every scalar has an encoding
                isASCII = isASCII && scalar.isASCII
            default: throw unexpected("a control character in a string")
            }
            run = place
            let isPlainASCII = passPlain()
            isASCII = isASCII && isPlainASCII
        }
        throw failure("a string does not end")
    }

    /// Moves to the next quote, backslash or control character, or to the end.
    ///
    /// - Returns: Whether the bytes before it are ASCII.
    private mutating func passPlain() -> Bool {
        let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let memory = UnsafeRawBufferPointer(bytes)
        var passed: UInt64 = 0
        // Eight bytes at once: the top bit of `x - 1 & ~x` is set for a byte that is 0.
        while place + 8 <= bytes.count {
            let word = UInt64(littleEndian: memory.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            let controls = (word &- ones &* 0x20) & ~word
            let found = (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | controls
            if found & tops != 0 { break }
            passed |= word
            place += 8
        }
        while let byte = next, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            passed |= UInt64(byte)
            place += 1
        }
        return passed & tops == 0
    }

    private func decoded(_ bytes: UnsafeBufferPointer<UInt8>, _ isASCII: Bool) -> String? {
        isASCII ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
    }

    private func checked(_ text: String?) throws(JSON.SyntaxError) -> String {
        guard let text else { throw failure("invalid UTF-8 in the string that ends here") }
        return text
    }

    /// - Precondition: A backslash precedes.
    private mutating func escape() throws(JSON.SyntaxError) -> Unicode.Scalar {
        let letter = next
        place += 1
        switch letter {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar()
        default:
            place -= 1
            throw letter == nil ? failure("a string does not end") : unexpected("invalid escape in a string")
        }
    }

    /// - Precondition: `\u` precedes.
    private mutating func scalar() throws(JSON.SyntaxError) -> Unicode.Scalar {
        let start = place
        var unit = try hexadecimal()
        if unit & 0xfc00 == 0xd800, next == UInt8(ascii: "\\"), place + 1 < bytes.count,
            bytes[place + 1] == UInt8(ascii: "u")
        {
            place += 2
            let low = try hexadecimal()
            if low & 0xfc00 == 0xdc00 { unit = 0x10000 + (unit & 0x3ff) << 10 + low & 0x3ff }
        }
        guard let scalar = Unicode.Scalar(unit) else {
            place = start
            throw failure("a lone surrogate")
        }
        return scalar
    }

    private mutating func hexadecimal() throws(JSON.SyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw unexpected("invalid \\u escape")
            }
            value = value << 4 | UInt32(digit)
            place += 1
        }
        return value
    }
}
