public import Foundation

/// A question or an answer that a rule forbids. Asking elsewhere would be a way around the rule.
public struct ContentBlocked: LocalizedError, Equatable, Sendable {
    /// What the rule says, for a user.
    public var reason: String

    public init(
        _ reason: String = "This touches on something that may not be answered here. Try to say it differently."
    ) {
        self.reason = reason
    }

    public var errorDescription: String? { "Content blocked: \(reason)" }
}
