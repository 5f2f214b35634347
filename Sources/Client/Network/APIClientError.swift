public import Foundation

/// Why a request failed. Details are in the client's log.
public enum APIClientError: Error, Equatable, Sendable {
    /// The server's URL or a path is invalid.
    case invalidURL
    /// The server did not respond, or the response broke off.
    case noResponse
    /// The response could not be decoded; the log names the missing or mistyped key.
    case decode
    /// The server refused the credentials: 401 or 403.
    case unAuthorized(code: Int)
    /// Any other status of 400 or above.
    case serverError(code: Int)
    /// A status that is neither success nor error, such as a redirect.
    case unknown
}

extension APIClientError: LocalizedError {
    /// Text for the user.
    public var errorDescription: String? {
        switch self {
        case .invalidURL: "The server's address is not valid."
        case .noResponse: "The server does not answer."
        case .decode: "The server's answer could not be read."
        case .unAuthorized(let code): "The server refused the request (status \(code)): it does not accept the key."
        case .serverError(429): "The server is busy (status 429). Try again later."
        case .serverError(let code): "The server could not answer (status \(code))."
        case .unknown: "The server answered something unexpected."
        }
    }
}
