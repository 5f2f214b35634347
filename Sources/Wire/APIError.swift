/// An error as in OpenAI's API: the HTTP status and the fields of the body.
public struct APIError: Error, Equatable, Sendable {
    /// Types of error, under OpenAI's names.
    public enum Kind: String, Codable, Sendable {
        case invalidRequest = "invalid_request_error"
        case rateLimit = "rate_limit_error"
        case server = "server_error"
    }

    public var status: Int
    public var kind: Kind
    public var message: String
    /// The field at fault, as the client spelled it.
    public var param: String?
    /// Machine-readable code.
    public var code: String?
    /// Seconds to wait before a retry.
    public var retryAfter: Int?
    /// The cause, for the server's log only: it may name paths and addresses.
    public var cause: String?

    public init(status: Int, kind: Kind, message: String, param: String? = nil, code: String? = nil) {
        self.status = status
        self.kind = kind
        self.message = message
        self.param = param
        self.code = code
    }

    /// A 400 for an invalid value of a field.
    public static func invalid(_ field: String, _ message: String) -> Self {
        .init(status: 400, kind: .invalidRequest, message: "\(field): \(message)", param: field, code: "invalid_value")
    }

    /// A 400 for a feature of OpenAI's API that this server does not support.
    static func unsupported(_ field: String, _ what: String = "it is") -> Self {
        .init(
            status: 400, kind: .invalidRequest, message: "\(field): \(what) not supported by this server", param: field,
            code: "unsupported_parameter")
    }
}

/// `{"error":{"message","type","param","code"}}`, each member present: some SDKs throw where one is missing.
public struct ErrorBody: Codable, Equatable, Sendable {
    public struct Detail: Codable, Equatable, Sendable {
        public var message: String
        public var type: String
        @Null public var param: String? = nil
        @Null public var code: String? = nil
    }

    public var error: Detail

    public init(_ error: APIError) {
        self.error = Detail(
            message: error.message, type: error.kind.rawValue, param: error.param, code: error.code)
    }
}
