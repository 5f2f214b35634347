public import Foundation

/// Why a call came to nothing. What exactly happened is in the client's log.
public enum APIClientError: Error, Equatable, Sendable {
    /// The server's address, or a path, with which no request can be made.
    case invalidURL
    /// Nobody answered, or the answer broke off.
    case noResponse
    /// The answer is not what was expected; the log names the key that is missing or has another type.
    case decode
    /// The server does not accept who asks: 401 or 403.
    case unAuthorized(code: Int)
    /// Any other status from 400 on.
    case serverError(code: Int)
    /// An answer that is neither a result nor an error, such as a redirect.
    case unknown
}

extension APIClientError: LocalizedError {
    /// For a user.
    public var errorDescription: String? {
        switch self {
        case .invalidURL: "The server's address is not valid."
        case .noResponse: "The server does not answer."
        case .decode: "The server's answer could not be read."
        case .unAuthorized(let code): "The server refused the request (status \(code)): it does not accept the key."
        case .serverError(429): "The server has too much to do (status 429). Try again in a while."
        case .serverError(let code): "The server could not answer (status \(code))."
        case .unknown: "The server answered something unexpected."
        }
    }
}
