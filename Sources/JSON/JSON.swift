/// A JSON value as it was written: members in order, numbers with their text.
///
/// Foundation's types keep neither, and compare names by canonical equivalence, which would unify distinct names such as
/// U+00C5 and U+212B.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(Number)
    case string(String)
    case array([JSON])
    case object(Object)
}

extension JSON {
    public var isNull: Bool { if case .null = self { true } else { false } }
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var array: [JSON]? { if case .array(let elements) = self { elements } else { nil } }
    public var object: Object? { if case .object(let object) = self { object } else { nil } }
    /// An integer, also one written as `1.0` or `1e3`.
    public var int: Int? { if case .number(let number) = self { number.int } else { nil } }
    /// A number; infinite beyond the range of `Double`.
    public var double: Double? { if case .number(let number) = self { number.double } else { nil } }

    /// The member of this name; `nil` if it is missing or null, or if this is not an object.
    public subscript(_ name: String) -> JSON? {
        guard case .object(let object) = self, let value = object[name], !value.isNull else { return nil }
        return value
    }

    /// Whether the value is null, `[]`, `{}` or `""`, which clients send for none.
    public var isEmpty: Bool {
        switch self {
        case .null: true
        case .string(let text): text.isEmpty
        case .array(let elements): elements.isEmpty
        case .object(let object): object.isEmpty
        case .bool, .number: false
        }
    }

    /// Memory in bytes, estimated.
    public var footprint: Int {
        switch self {
        case .null, .bool: 24
        case .number(let number): 24 + number.text.utf8.count
        case .string(let text): 24 + text.utf8.count
        case .array(let elements): elements.reduce(64) { $0 + $1.footprint }
        case .object(let object): object.members.reduce(96) { $0 + 16 + $1.name.utf8.count + $1.value.footprint }
        }
    }

    /// What the value is, for messages: "null", "true", "a number".
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The number; null if it is not finite.
    public init(_ value: Double) { self = Number(value).map { .number($0) } ?? .null }
    public init(_ value: some BinaryInteger) { self = .number(Number(value)) }
}

/// Strings and names are compared by their bytes, numbers by their text. The order of members does not count.
extension JSON: Equatable {
    public static func == (one: JSON, other: JSON) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.string(let one), .string(let other)): haveSameBytes(one, other)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self.init(value) }
    public init(floatLiteral value: Double) { self.init(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral members: (String, JSON)...) {
        self = .object(Object(members.map { (name: $0.0, value: $0.1) }))
    }
}

extension JSON {
    /// A number in JSON's syntax. `1`, `1.0` and `1e0` are different.
    public struct Number: Sendable, Hashable {
        public let text: String

        /// - Parameter text: In JSON's syntax, not checked here.
        init(checked text: String) { self.text = text }

        public init(_ value: some BinaryInteger) { text = String(value) }

        /// - Returns: `nil` for infinities and what is not a number.
        public init?(_ value: Double) {
            guard value.isFinite else { return nil }
            text = Self.withoutPoint(value.description)
        }

        /// - Returns: `nil` for infinities and what is not a number.
        public init?(_ value: Float) {
            guard value.isFinite else { return nil }
            text = Self.withoutPoint(value.description)
        }

        /// `1` for `1.0`.
        private static func withoutPoint(_ text: String) -> String {
            text.utf8.count > 2 && text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }

        /// Whether it has neither a fraction nor an exponent.
        public var isWrittenAsInteger: Bool {
            text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10 }
        }

        /// The value, if it is an integer; also of `1.0` and `1e3`.
        public var int: Int? { integer() }

        /// Infinite beyond the range of `Double`.
        public var double: Double { Double(text) ?? 0 }

        /// The exact value, if it is one of the type's.
        func integer<Integer: FixedWidthInteger>(_: Integer.Type = Integer.self) -> Integer? {
            if let value = Integer(text) { return value }
            guard !isWrittenAsInteger else { return nil }
            // ± digits · 10^exponent
            var (digits, exponent, fraction, power) = ("", 0, 0, "")
            var (isFraction, isPower) = (false, false)
            for character in text.unicodeScalars {
                switch character {
                case ".": isFraction = true
                case "e", "E": isPower = true
                case _ where isPower: power.unicodeScalars.append(character)
                default:
                    digits.unicodeScalars.append(character)
                    if isFraction { fraction += 1 }
                }
            }
            if !digits.utf8.contains(where: { $0 > UInt8(ascii: "0") }) { return 0 }
            if isPower {
                guard let value = Int(power), abs(value) < 1 << 20 else { return nil }
                exponent = value
            }
            exponent -= fraction
            while exponent < 0, digits.utf8.last == UInt8(ascii: "0") {
                digits.removeLast()
                exponent += 1
            }
            guard exponent >= 0, var value = Integer(digits) else { return nil }
            for _ in 0..<exponent {
                let (product, overflow) = value.multipliedReportingOverflow(by: 10)
                if overflow { return nil }
                value = product
            }
            return value
        }
    }
}

extension JSON.Number: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    public init(integerLiteral value: Int) { self.init(value) }
    /// Zero for a literal beyond the range of `Double`.
    public init(floatLiteral value: Double) { self = Self(value) ?? 0 }
}

/// Compares as bytes; `==` compares by canonical equivalence.
func haveSameBytes(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count && one.utf8.elementsEqual(other.utf8)
}
