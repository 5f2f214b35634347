/// Refuses what Foundation would accept: encodings other than UTF-8, a byte order mark, trailing commas, duplicate
/// keys, and excessive nesting or numbers of values. Other errors are left to Foundation.
///
/// One pass, linear in time and memory.
struct JSONSyntax {
    /// Maximum nesting: decoding is recursive, and no request needs more.
    static let depthLimit = 128
    /// Maximum values and keys together. Foundation needs over a hundred bytes for each, so 8 MB of `1,` would take a
    /// gigabyte. No context has more tokens.
    static let valueLimit = 1 << 19

    private let bytes: UnsafeBufferPointer<UInt8>
    private var values = 0
    /// The open containers; objects with their keys, unescaped.
    private var open: [Container] = []

    private struct Container {
        let isObject: Bool
        /// Whether the next string is a key.
        var awaitsKey: Bool
        var keys: Set<[UInt8]> = []
    }

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func check() throws(APIError) {
        guard !bytes.isEmpty else { throw .notJSON("the body is empty") }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .notJSON("the body is not UTF-8") }
        guard !bytes.starts(with: [0xef, 0xbb, 0xbf]) else { throw .notJSON("the body begins with a byte order mark") }
        var position = 0
        var last: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            let start = position
            position += 1
            switch byte {
            case 0: throw .notJSON("the body has a NUL byte")
            case 0x20, 0x09, 0x0a, 0x0d: continue
            case UInt8(ascii: "\""):
                position = try endOfString(from: start)
                try countString(start + 1..<position - 1)
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                try count()
                open.append(Container(isObject: byte == UInt8(ascii: "{"), awaitsKey: byte == UInt8(ascii: "{")))
                guard open.count <= Self.depthLimit else {
                    throw .notJSON("the body is nested more than \(Self.depthLimit) deep")
                }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                guard last != UInt8(ascii: ",") else { throw .notJSON("a comma before a closing bracket") }
                _ = open.popLast()
            case UInt8(ascii: ","):
                if let inner = open.indices.last { open[inner].awaitsKey = open[inner].isObject }
            case UInt8(ascii: ":"): break
            default: if Self.isStart(after: last) { try count() }
            }
            last = byte
        }
    }

    /// Whether a number or word that follows this byte is a new value.
    private static func isStart(after byte: UInt8) -> Bool {
        [0, UInt8(ascii: "["), UInt8(ascii: ","), UInt8(ascii: ":")].contains(byte)
    }

    private mutating func count() throws(APIError) {
        values += 1
        guard values <= Self.valueLimit else {
            throw APIError(
                status: 413, kind: .invalidRequest,
                message: "The body has more than \(Self.valueLimit) values and keys.", code: "request_too_large")
        }
    }

    /// The position after a string's closing quote.
    private func endOfString(from start: Int) throws(APIError) -> Int {
        var position = start + 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position += 2
            case 0: throw .notJSON("the body has a NUL byte")
            case ..<0x20: throw .notJSON("a control character in a string")
            default: position += 1
            }
        }
        throw .notJSON("a string without an end")
    }

    private mutating func countString(_ range: Range<Int>) throws(APIError) {
        try count()
        guard let inner = open.indices.last, open[inner].awaitsKey else { return }
        open[inner].awaitsKey = false
        let key = Self.unescaped(bytes[range])
        guard open[inner].keys.insert(key).inserted else {
            let name = String(decoding: key.prefix(100), as: UTF8.self)
            throw .notJSON("duplicate key \"\(name)\"")
        }
    }

    /// Unescapes a string. Invalid escapes stay as they are; Foundation refuses them later.
    private static func unescaped(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "\\")) else { return Array(text) }
        var units: [UInt16] = []
        var result: [UInt8] = []
        func flush() {
            guard !units.isEmpty else { return }
            result += Array(String(decoding: units, as: UTF16.self).utf8)
            units = []
        }
        var position = text.startIndex
        while position < text.endIndex {
            let byte = text[position]
            guard byte == UInt8(ascii: "\\"), position + 1 < text.endIndex else {
                flush()
                result.append(byte)
                position += 1
                continue
            }
            let letter = text[position + 1]
            position += 2
            if letter == UInt8(ascii: "u"), text.endIndex - position >= 4,
                let unit = UInt16(String(decoding: text[position..<position + 4], as: UTF8.self), radix: 16)
            {
                units.append(unit)
                position += 4
                continue
            }
            flush()
            switch letter {
            case UInt8(ascii: "n"): result.append(0x0a)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "r"): result.append(0x0d)
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0c)
            default: result.append(letter)
            }
        }
        flush()
        return result
    }
}
