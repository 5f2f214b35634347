import Foundation

/// JSON with ordered properties; Foundation's encoders do not keep their order.
indirect enum OrderedJSON: Sendable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([OrderedJSON])
    case object([(key: String, value: OrderedJSON)])

    /// Compact JSON text. Foundation writes the scalars; a number that is not finite becomes `null`.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let bool): bool ? "true" : "false"
        case .int(let int): String(int)
        case .double(let double): Self.encoded(double)
        case .string(let string): Self.encoded(string)
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { "\(Self.encoded($0.key)):\($0.value.text)" }.joined(separator: ",") + "}"
        }
    }

    private static func encoded(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }
}
