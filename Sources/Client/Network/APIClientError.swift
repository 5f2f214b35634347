public import Foundation
import JSON
package import LocalLLM
import Wire

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
    /// A service refused a conversation that exceeds its model's context.
    case conversationTooLong
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
        case .conversationTooLong: "The conversation is longer than the model's context."
        case .serverError(429): "The server is busy (status 429). Try again later."
        case .serverError(let code): "The server could not answer (status \(code))."
        case .unknown: "The server answered something unexpected."
        }
    }
}

extension APIClientError: ProviderError {
    package var problem: ProviderProblem {
        switch self {
        case .conversationTooLong: .conversationTooLong
        case .serverError(429): .tooManyRequests
        case .serverError(408), .serverError(504): .tooSlow
        default: .other
        }
    }

    /// - Parameter body: What a service answers to a request with status 400.
    static func ofRefusal(_ body: [UInt8]) -> Self {
        struct Body: Decodable { let error: ReceivedError }
        let error = try? JSON.decode(Body.self, from: body).error
        // Anthropic's API has no code for it.
        let isTooLong =
            error?.code == "context_length_exceeded" || error?.message?.hasPrefix("prompt is too long") == true
        return isTooLong ? .conversationTooLong : .serverError(code: 400)
    }
}
