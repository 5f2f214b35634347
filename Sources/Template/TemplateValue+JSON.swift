public import Foundation

extension TemplateValue {
    /// Maximum nesting of arrays and objects in JSON for templates.
    public static let maximumJSONDepth = 100

    /// Parses JSON, keeping the order of keys and distinguishing `1` from `1.0`. Of duplicate keys the last value
    /// counts.
    ///
    /// Integers beyond 64 bits become doubles.
    ///
    /// - Throws: `DecodingError` for invalid JSON, a number out of range, or nesting beyond ``maximumJSONDepth``.
    public init(json: Data) throws {
        // The decoder returns keys unordered, but converts them in the order of the text, so each gets a number.
        let counter = KeyCounter()
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { path in counter.number(path[path.count - 1]) }
        let node = try decoder.decode(JSONNode.self, from: json)
        // The decoder does not distinguish `1.0` from an integer; `JSONSerialization` does.
        let written = try node.hasNumbers ? JSONSerialization.jsonObject(with: json, options: .fragmentsAllowed) : nil
        self.init(node, written: written)
    }

    private init(_ node: JSONNode, written: Any?) {
        switch node {
        case .null: self = .none
        case .bool(let bool): self = .bool(bool)
        case .string(let text): self = .string(text)
        case .number(let int, let double):
            // `JSONSerialization` returns the smallest integer as a double.
            let isFraction = (written as? NSNumber).map(isFraction) ?? false
            if let int, !isFraction || int == .min { self = .int(int) } else { self = .double(double) }
        case .array(let nodes):
            let written = written as? [Any]
            self = .array(
                nodes.enumerated().map { index, node in
                    TemplateValue(node, written: written.flatMap { $0.indices.contains(index) ? $0[index] : nil })
                })
        case .object(let members):
            let written = written as? [String: Any]
            self = .object(
                TemplateObject(members.map { (key: $0.key, value: TemplateValue($0.value, written: written?[$0.key])) })
            )
        }
    }
}

/// Whether a number was written with a fraction or exponent.
private func isFraction(_ number: NSNumber) -> Bool {
    let type = UInt8(bitPattern: number.objCType.pointee)
    return type == UInt8(ascii: "d") || type == UInt8(ascii: "f")
}

/// A key with its position in the text: "0000000012:name".
private struct NumberedKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }

    static let digits = 10
    var name: String { String(Substring(stringValue.utf8.dropFirst(NumberedKey.digits + 1))) }
}

/// Used by one decoder on one thread.
private final class KeyCounter: @unchecked Sendable {
    private var count = 0

    func number(_ key: any CodingKey) -> NumberedKey {
        count += 1
        let digits = String(count)
        let zeros = String(repeating: "0", count: max(0, NumberedKey.digits - digits.utf8.count))
        return NumberedKey(stringValue: "\(zeros)\(digits):\(key.stringValue)")
    }
}

private indirect enum JSONNode: Decodable {
    case null
    case bool(Bool)
    case number(Int?, Double)
    case string(String)
    case array([JSONNode])
    case object([(key: String, value: JSONNode)])

    init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count <= TemplateValue.maximumJSONDepth else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: [], debugDescription: "JSON nests deeper than \(TemplateValue.maximumJSONDepth) levels")
            )
        }
        // Text first: most values are text, and a failed attempt is slow.
        let scalar = try decoder.singleValueContainer()
        if let text = try? scalar.decode(String.self) {
            self = .string(text)
        } else if let object = try? decoder.container(keyedBy: NumberedKey.self) {
            let keys = object.allKeys.sorted { $0.stringValue.utf8.lexicographicallyPrecedes($1.stringValue.utf8) }
            self = .object(try keys.map { ($0.name, try object.decode(JSONNode.self, forKey: $0)) })
        } else if var array = try? decoder.unkeyedContainer() {
            var nodes: [JSONNode] = []
            while !array.isAtEnd { nodes.append(try array.decode(JSONNode.self)) }
            self = .array(nodes)
        } else if scalar.decodeNil() {
            self = .null
        } else if let bool = try? scalar.decode(Bool.self) {
            self = .bool(bool)
        } else {
            self = .number(try? scalar.decode(Int.self), try scalar.decode(Double.self))
        }
    }

    var hasNumbers: Bool {
        switch self {
        case .number: true
        case .array(let nodes): nodes.contains(where: \.hasNumbers)
        case .object(let members): members.contains(where: \.value.hasNumbers)
        case .null, .bool, .string: false
        }
    }
}
