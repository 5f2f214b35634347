/// An error as in OpenAI's API: the HTTP status and the fields of the body.
package struct APIError: Error, Equatable, Sendable {
    /// Types of error, under OpenAI's names.
    package enum Kind: String, Codable, Sendable {
        case invalidRequest = "invalid_request_error"
        case rateLimit = "rate_limit_error"
        case server = "server_error"
    }

    package var status: Int
    package var kind: Kind
    package var message: String
    /// The field at fault, as the client spelled it.
    package var param: String?
    /// Machine-readable code.
    package var code: String?
    /// Seconds to wait before a retry.
    package var retryAfter: Int?
    /// The cause, for the server's log only: it may name paths and addresses.
    package var cause: String?

    package init(status: Int, kind: Kind, message: String, param: String? = nil, code: String? = nil) {
        self.status = status
        self.kind = kind
        self.message = message
        self.param = param
        self.code = code
    }

    /// A 400 for an invalid value of a field.
    package static func invalid(_ field: String, _ message: String) -> Self {
        .init(status: 400, kind: .invalidRequest, message: "\(field): \(message)", param: field, code: "invalid_value")
    }

    /// A 400 for a feature of OpenAI's API that this server does not support.
    package static func unsupported(_ field: String, _ what: String = "it is") -> Self {
        .init(
            status: 400, kind: .invalidRequest, message: "\(field): \(what) not supported by this server", param: field,
            code: "unsupported_parameter")
    }
}

/// `{"error":{"message","type","param","code"}}`, each member present: some SDKs throw where one is missing.
package struct ErrorBody: Codable, Equatable, Sendable {
    package struct Detail: Codable, Equatable, Sendable {
        package var message: String
        package var type: String
        @Null package var param: String? = nil
        @Null package var code: String? = nil
    }

    package var error: Detail

    package init(_ error: APIError) {
        self.error = Detail(
            message: error.message, type: error.kind.rawValue, param: error.param, code: error.code)
    }
}
