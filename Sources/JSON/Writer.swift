extension JSON {
    /// The value as text, without white space; members in order, numbers as they were written.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// `text` in UTF-8.
    public var bytes: [UInt8] {
        var writer = Writer()
        writer.write(self)
        return writer.bytes
    }
}

/// Writes compact JSON.
struct Writer {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: JSON) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += value ? "true".utf8 : "false".utf8
        case .number(let number): bytes += number.text.utf8
        case .string(let text): write(text)
        case .array(let elements):
            open("[")
            for element in elements {
                separate()
                write(element)
            }
            close("]")
        case .object(let object):
            open("{")
            for (name, value) in object.members {
                write(name: name)
                write(value)
            }
            close("}")
        }
    }

    mutating func open(_ bracket: Unicode.Scalar) { bytes.append(UInt8(ascii: bracket)) }
    mutating func close(_ bracket: Unicode.Scalar) { bytes.append(UInt8(ascii: bracket)) }

    /// Writes a comma unless a bracket was just opened.
    mutating func separate() {
        if let last = bytes.last, last != UInt8(ascii: "["), last != UInt8(ascii: "{") {
            bytes.append(UInt8(ascii: ","))
        }
    }

    mutating func write(name: String) {
        separate()
        write(name)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Escapes what RFC 8259 demands, and nothing else.
    mutating func write(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { text in
            var run = 0
            for (place, byte) in text.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: text[run..<place])
                escape(byte)
                run = place + 1
            }
            bytes.append(contentsOf: text[run...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case ..<0x20:
            bytes += "u00".utf8
            for digit in [byte >> 4, byte & 15] {
                bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        default: bytes.append(byte)
        }
    }
}
