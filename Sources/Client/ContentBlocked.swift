public import Foundation

/// A guardrail refused a question or an answer. No other engine is tried, since that would bypass it.
public struct ContentBlocked: LocalizedError, Equatable, Sendable {
    /// The guardrail's message for the user.
    public var reason: String

    public init(
        _ reason: String = "This touches on something that may not be answered here. Try to say it differently."
    ) {
        self.reason = reason
    }

    public var errorDescription: String? { "Content blocked: \(reason)" }
}
