package import HTTP
package import Wire

/// Authenticates requests by credentials of its own, besides the server's API keys.
package protocol Authenticator: Sendable {
    /// Whether a request's credentials cover its body, so that they can be checked only once that has arrived.
    func coversBody(_ request: Request) -> Bool

    /// The sender of a request; `nil` if it has none of this authenticator's credentials, and may have an API key.
    ///
    /// - Parameter accepted: Credentials that the route accepts; others are refused.
    func principal(of request: Request, accepting accepted: Credentials) throws(APIError) -> Principal?

    /// The error for a request without credentials where the server has no API keys; `nil`: that a key is missing.
    func refusal(accepting accepted: Credentials) -> APIError?
}

/// Credentials that a route accepts. Which of an authenticator's credentials are `user` and `trusted` is its decision;
/// it may declare more from `firstOwn` on, for routes of its own.
package struct Credentials: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A key of `--api-key-file`.
    package static let apiKey = Self(rawValue: 1)
    /// What an authenticator gives to users of the API.
    package static let user = Self(rawValue: 2)
    /// What an authenticator gives to those who may also see how the server is doing.
    package static let trusted = Self(rawValue: 4)

    package static let firstOwn = 8

    package static let standard: Self = [.apiKey, .user, .trusted]
    /// For routes that describe the server or use its tokenizer.
    package static let operators: Self = [.apiKey, .trusted]
}
