/// Finds the end of a JSON value, byte by byte. Strict: rejects everything that is not JSON.
struct JSONScanner: Sendable {
    enum Verdict { case more, ended, endedBefore, invalid }

    private enum State: Sendable {
        case value, firstItem, firstKey, key, colon, after
        case string, escape, hex(Int)
        case literal([UInt8])
        case number(Number)
    }

    private enum Number: Sendable { case minus, zero, integer, point, fraction, exponent, sign, digits }

    static let maximumDepth = 512

    private var state = State.value
    private var isKey = false
    /// For each open bracket, whether it is an object's.
    private var stack: [Bool] = []

    var isString: Bool {
        switch state {
        case .string, .escape, .hex: true
        default: false
        }
    }

    mutating func feed(_ byte: UInt8) -> Verdict {
        switch state {
        case .string: return string(byte)
        case .escape:
            if byte == UInt8(ascii: "u") { state = .hex(4) } else { state = .string }
            return "\"\\/bfnrtu".utf8.contains(byte) ? .more : .invalid
        case .hex(let count):
            state = count == 1 ? .string : .hex(count - 1)
            return isHexDigit(byte) ? .more : .invalid
        case .literal(let rest):
            guard byte == rest.first else { return .invalid }
            if rest.count == 1 { return valueEnded() }
            state = .literal(Array(rest.dropFirst()))
            return .more
        case .number(let number): return self.number(number, byte)
        default:
            return isSpace(byte) ? .more : structure(byte)
        }
    }

    /// Whether the text may end here: only numbers have no terminator of their own.
    var canEnd: Bool {
        guard stack.isEmpty, case .number(let number) = state else { return false }
        return [.zero, .integer, .fraction, .digits].contains(number)
    }

    private mutating func string(_ byte: UInt8) -> Verdict {
        switch byte {
        case UInt8(ascii: "\\"): state = .escape
        case UInt8(ascii: "\""):
            guard isKey else { return valueEnded() }
            state = .colon
        case 0..<0x20: return .invalid
        default: break
        }
        return .more
    }

    private mutating func valueEnded() -> Verdict {
        state = .after
        return stack.isEmpty ? .ended : .more
    }

    private mutating func structure(_ byte: UInt8) -> Verdict {
        switch (state, byte) {
        case (.firstItem, UInt8(ascii: "]")), (.firstKey, UInt8(ascii: "}")):
            stack.removeLast()
            return valueEnded()
        case (.after, UInt8(ascii: "]")), (.after, UInt8(ascii: "}")):
            guard stack.popLast() == (byte == UInt8(ascii: "}")) else { return .invalid }
            return valueEnded()
        case (.after, UInt8(ascii: ",")):
            guard let isObject = stack.last else { return .invalid }
            state = isObject ? .key : .value
        case (.firstKey, UInt8(ascii: "\"")), (.key, UInt8(ascii: "\"")): (state, isKey) = (.string, true)
        case (.colon, UInt8(ascii: ":")): state = .value
        case (.value, _), (.firstItem, _): return value(byte)
        default: return .invalid
        }
        return .more
    }

    private mutating func value(_ byte: UInt8) -> Verdict {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard stack.count < Self.maximumDepth else { return .invalid }
            stack.append(byte == UInt8(ascii: "{"))
            state = byte == UInt8(ascii: "{") ? .firstKey : .firstItem
        case UInt8(ascii: "\""): (state, isKey) = (.string, false)
        case UInt8(ascii: "t"): state = .literal(Array("rue".utf8))
        case UInt8(ascii: "f"): state = .literal(Array("alse".utf8))
        case UInt8(ascii: "n"): state = .literal(Array("ull".utf8))
        case UInt8(ascii: "-"): state = .number(.minus)
        case UInt8(ascii: "0"): state = .number(.zero)
        case UInt8(ascii: "1")...UInt8(ascii: "9"): state = .number(.integer)
        default: return .invalid
        }
        return .more
    }

    private mutating func number(_ number: Number, _ byte: UInt8) -> Verdict {
        let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        let next: Number? =
            switch (number, byte) {
            case (.minus, UInt8(ascii: "0")): .zero
            case (.minus, _) where isDigit, (.integer, _) where isDigit: .integer
            case (.zero, UInt8(ascii: ".")), (.integer, UInt8(ascii: ".")): .point
            case (.point, _) where isDigit, (.fraction, _) where isDigit: .fraction
            case (.zero, UInt8(ascii: "e")), (.zero, UInt8(ascii: "E")), (.integer, UInt8(ascii: "e")),
                (.integer, UInt8(ascii: "E")), (.fraction, UInt8(ascii: "e")), (.fraction, UInt8(ascii: "E")):
                .exponent
            case (.exponent, UInt8(ascii: "+")), (.exponent, UInt8(ascii: "-")): .sign
            case (.exponent, _) where isDigit, (.sign, _) where isDigit, (.digits, _) where isDigit: .digits
            default: nil
            }
        if let next {
            state = .number(next)
            return .more
        }
        guard [.zero, .integer, .fraction, .digits].contains(number) else { return .invalid }
        state = .after
        if stack.isEmpty { return .endedBefore }
        return isSpace(byte) ? .more : structure(byte)
    }

    /// Whether `text`, apart from surrounding white space, is one JSON value.
    static func isValue(_ text: some Sequence<UInt8>) -> Bool {
        var scanner = JSONScanner()
        var hasEnded = false
        for byte in text {
            if hasEnded {
                guard isSpace(byte) else { return false }
                continue
            }
            switch scanner.feed(byte) {
            case .more: continue
            case .invalid: return false
            case .ended: hasEnded = true
            case .endedBefore:
                guard isSpace(byte) else { return false }
                hasEnded = true
            }
        }
        return hasEnded || scanner.canEnd
    }
}

func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

func isHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
}

/// `text` escaped for the inside of a JSON string.
func jsonEscaped(_ text: some Sequence<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    for byte in text { appendEscaped(byte, to: &result) }
    return result
}

func appendEscaped(_ byte: UInt8, to result: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "\""): result += "\\\"".utf8
    case UInt8(ascii: "\\"): result += "\\\\".utf8
    case 0x0a: result += "\\n".utf8
    case 0x0d: result += "\\r".utf8
    case 0x09: result += "\\t".utf8
    case 0..<0x20:
        let digits = Array("0123456789abcdef".utf8)
        result += "\\u00".utf8
        result += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    default: result.append(byte)
    }
}

/// `text` as a JSON string with quotes.
func jsonString(_ text: some Sequence<UInt8>) -> [UInt8] {
    [UInt8(ascii: "\"")] + jsonEscaped(text) + [UInt8(ascii: "\"")]
}
