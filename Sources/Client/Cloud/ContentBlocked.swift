public import Foundation

/// A question or an answer that a rule forbids. Asking elsewhere would be a way around the rule.
public struct ContentBlocked: LocalizedError, Equatable, Sendable {
    public init() {}

    /// For a user.
    public var errorDescription: String? {
        "Content blocked: this touches on something that may not be answered here. Try to say it differently."
    }
}
