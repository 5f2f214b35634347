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
