/// Converts the arguments of a call to JSON, in pieces that are never revised.
enum ArgumentReader: Sendable {
    case none
    case json(JSONArguments)
    case notation(Notation)
    case tagged(TaggedArguments)

    /// - Returns: JSON text that is final, and whether the arguments are complete.
    mutating func read(_ text: inout PendingText, isLast: Bool) -> (json: [UInt8], isComplete: Bool) {
        switch self {
        case .none: return ([], true)
        case .json(var reader):
            let json = reader.read(&text)
            self = .json(reader)
            return (json, reader.isComplete)
        case .notation(var reader):
            let json = reader.read(text.bytes, &text.cursor, isLast: isLast)
            self = .notation(reader)
            return (json, reader.isEnded)
        case .tagged(var reader):
            let json = reader.read(&text, isLast: isLast)
            self = .tagged(reader)
            return (json, reader.isComplete)
        }
    }
}

/// Arguments written as JSON: an object, or a string that contains one. If the schema asks for a string, it is the string.
struct JSONArguments: Sendable {
    private enum Form: Sendable { case unknown, value(JSONScanner), text(isEscaped: Bool) }

    private var form = Form.unknown
    private(set) var isComplete = false
    /// Whether the text is not valid JSON. The rest up to `close` is passed on unchanged.
    private var isBroken = false
    private let close: [UInt8]
    private let isString: Bool

    /// - Parameter close: Marker that ends the call.
    init(close: [UInt8], schema: ArgumentSchema) {
        self.close = close
        isString = schema.isString
    }

    mutating func read(_ text: inout PendingText) -> [UInt8] {
        var json: [UInt8] = []
        while !isComplete, !text.isEmpty {
            if isBroken {
                switch close.isEmpty ? .no : text.match(close, at: text.cursor, isLast: false) {
                case .full:
                    isComplete = true
                    return json
                case .partial: return json
                case .no: json.append(text.bytes[text.cursor])
                }
                text.cursor += 1
                continue
            }
            let byte = text.bytes[text.cursor]
            switch form {
            case .unknown:
                if isSpace(byte) {
                    text.cursor += 1
                } else if byte == UInt8(ascii: "\""), !isString {
                    form = .text(isEscaped: false)
                    text.cursor += 1
                } else {
                    form = .value(JSONScanner())
                }
            case .value(var scanner):
                let verdict = scanner.feed(byte)
                form = .value(scanner)
                switch verdict {
                case .more: json.append(byte)
                case .ended:
                    json.append(byte)
                    isComplete = true
                case .endedBefore:
                    isComplete = true
                    return json
                case .invalid:
                    isBroken = true
                    continue
                }
                text.cursor += 1
            case .text(let isEscaped):
                text.cursor += 1
                guard isEscaped || byte != UInt8(ascii: "\"") else {
                    isComplete = true
                    return json
                }
                if isEscaped {
                    json.append(Self.unescaped(byte))
                    form = .text(isEscaped: false)
                } else if byte == UInt8(ascii: "\\") {
                    form = .text(isEscaped: true)
                } else {
                    json.append(byte)
                }
            }
        }
        return json
    }

    /// The byte of an escape in JSON inside a JSON string: quotes, backslashes, line breaks between members.
    private static func unescaped(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "r"): 0x0d
        default: byte
        }
    }
}
