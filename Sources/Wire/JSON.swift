import Foundation

/// JSON coding of the API.
public enum JSON {
    /// Encodes with sorted keys, so that equal values give equal bytes.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    /// Decodes a request's body. Errors name the path in the body, what was expected and what was found.
    public static func decode<T: Decodable>(_ type: T.Type, from body: [UInt8]) throws(APIError) -> T {
        // A result, as Swift 6.0's `withUnsafeBufferPointer` does not pass on an error's type.
        try body.withUnsafeBufferPointer { bytes in
            Result { () throws(APIError) in
                var syntax = JSONSyntax(bytes)
                try syntax.check()
            }
        }.get()
        let data = Data(body)
        do {
            // The decoder would skip errors inside fields that are not decoded.
            _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
        } catch {
            throw .notJSON((error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? "it is malformed")
        }
        do {
            let decoder = JSONDecoder()
            decoder.userInfo[.requestBody] = RawBody(body)
            return try decoder.decode(type, from: data)
        } catch {
            throw explain(error, decoding: body)
        }
    }

    /// Whether a text is a JSON object.
    public static func isObject(_ text: String) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) is [String: Any]
    }

    /// The error that a client gets for a decoding error in its `body`.
    public static func explain(_ error: any Error, decoding body: [UInt8]) -> APIError {
        // Only for the error text, so skipped for very large bodies.
        let value = body.count < 1 << 20 ? try? JSONDecoder().decode(JSONValue.self, from: Data(body)) : nil
        return explain(error, in: value)
    }

    private static func explain(_ error: any Error, in body: JSONValue?) -> APIError {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            return .init(missing: spelled(context.codingPath + [key]))
        case DecodingError.valueNotFound(_, let context):
            return .init(missing: spelled(context.codingPath))
        case DecodingError.typeMismatch(let type, let context):
            let found = body?.at(context.codingPath)?.kind ?? "something else"
            return .mismatch(spelled(context.codingPath), "expected \(name(of: type)), found \(found)")
        case DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty:
            return .mismatch(spelled(context.codingPath), context.debugDescription)
        case DecodingError.dataCorrupted(let context):
            let cause = (context.underlyingError as NSError?)?.userInfo[NSDebugDescriptionErrorKey] as? String
            return .notJSON(cause ?? context.debugDescription)
        default:
            return .notJSON("\(error)")
        }
    }

    /// `messages[2].content[0].text`
    private static func spelled(_ path: [any CodingKey]) -> String {
        path.reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
    }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type: "a whole number"
        case is any BinaryFloatingPoint.Type: "a number"
        case is [Any].Type: "an array"
        default: "an object"
        }
    }
}

extension APIError {
    static func notJSON(_ why: String) -> Self {
        .init(status: 400, kind: .invalidRequest, message: "The body could not be read as JSON: \(why)")
    }

    fileprivate static func mismatch(_ path: String, _ what: String) -> Self {
        guard !path.isEmpty else {
            return .init(status: 400, kind: .invalidRequest, message: "The body: \(what)", code: "invalid_type")
        }
        return .init(
            status: 400, kind: .invalidRequest, message: "\(path): \(what)", param: path, code: "invalid_type")
    }

    public init(missing path: String) {
        guard !path.isEmpty else {
            self = .mismatch(path, "expected an object, found null")
            return
        }
        self.init(
            status: 400, kind: .invalidRequest, message: "\(path): required, but missing or null", param: path,
            code: "missing_required_parameter")
    }
}

/// Any JSON value, for fields without a type of their own.
public enum JSONValue: Codable, Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Strings first: most values are, and each failed attempt costs microseconds.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The value at a path, or `nil`.
    fileprivate func at(_ path: [any CodingKey]) -> JSONValue? {
        path.reduce(self) { value, key in
            switch value {
            case .array(let elements)?:
                key.intValue.flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            case .object(let members)?: members[key.stringValue]
            default: nil
            }
        }
    }
}
