public import Foundation

/// A guardrail refused a question or an answer. No other engine is tried, since that would bypass it.
public struct ContentBlocked: LocalizedError, Equatable, Sendable {
    /// The guardrail's message for the user.
    public var reason: String

    public init(
        _ reason: String = "Blocked by the content filter. Rephrase the message and try again."
    ) {
        self.reason = reason
    }

    public var errorDescription: String? { "Content blocked: \(reason)" }
}
