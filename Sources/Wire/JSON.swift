package import JSON

// JSON coding of the API.

extension JSON {
    /// Limits of a request's body. No request needs more nesting, and no context has more tokens than values. A name must
    /// not occur twice in an object: two readers could take one value each.
    package static let bodyLimits = Limits(depth: 128, values: 1 << 19, allowsDuplicates: false)

    /// Limits of what other servers send. Its size is limited where it is received.
    package static let answerLimits = Limits(depth: 128)

    /// Parses a request's body.
    package init(body: [UInt8]) throws(APIError) {
        do {
            try self.init(parsing: body, Self.bodyLimits)
        } catch {
            switch error.cause {
            case .malformed: throw .notJSON(error.description)
            case .tooManyValues:
                throw APIError(
                    status: 413, kind: .invalidRequest,
                    message: "The body has more than \(Self.bodyLimits.values) values and names.",
                    code: "request_too_large")
            }
        }
    }

    /// Parses a request's body and decodes it. Errors name the path in the body, what was expected and what was found.
    package static func decode<T: Decodable>(_ type: T.Type, from body: [UInt8]) throws(APIError) -> T {
        try JSON(body: body).decoded(type)
    }

    /// Decodes a request's body, like `decode(_:from:)`.
    package func decoded<T: Decodable>(_ type: T.Type = T.self) throws(APIError) -> T {
        do { return try decode(type) } catch { throw Self.explain(error) }
    }

    /// The error that a client gets for an error of a decoder.
    private static func explain(_ error: any Error) -> APIError {
        switch error {
        case DecodingError.keyNotFound(let key, let context): .init(missing: spelled(context.codingPath + [key]))
        case DecodingError.valueNotFound(_, let context): .init(missing: spelled(context.codingPath))
        case DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context):
            .mismatch(spelled(context.codingPath), context.debugDescription)
        default: .notJSON("\(error)")
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
}

extension JSON.Object {
    /// Sets a member, or removes it with `nil`. Other members whose names differ only in case are removed, since some
    /// parsers ignore case.
    ///
    /// - Parameter name: Lower-case name.
    package mutating func setOnly(_ name: String, _ value: JSON?) {
        removeAll { $0.name.uppercased().lowercased() == name && $0.name != name }  // `ſ` is an `s` for some
        self[name] = value
    }
}

extension APIError {
    fileprivate static func notJSON(_ why: String) -> Self {
        .init(status: 400, kind: .invalidRequest, message: "The body could not be read as JSON: \(why)")
    }

    fileprivate static func mismatch(_ path: String, _ what: String) -> Self {
        guard !path.isEmpty else {
            return .init(status: 400, kind: .invalidRequest, message: "The body: \(what)", code: "invalid_type")
        }
        return .init(
            status: 400, kind: .invalidRequest, message: "\(path): \(what)", param: path, code: "invalid_type")
    }

    package init(missing path: String) {
        guard !path.isEmpty else {
            self = .mismatch(path, "expected an object, found null")
            return
        }
        self.init(
            status: 400, kind: .invalidRequest, message: "\(path): required, but missing or null", param: path,
            code: "missing_required_parameter")
    }
}
