public import Foundation

/// A token that is good for a while.
public struct AccessToken: Codable, Equatable, Sendable {
    public var token: String
    /// Milliseconds since 1970.
    public var expiresAt: Int64

    public init(token: String, expiresAt: Int64) {
        self.token = token
        self.expiresAt = expiresAt
    }

    /// - Parameter expiresAt: Seconds since 1970, as endpoints say it. What no date can be is brought into range.
    init(token: String, expiresAtSeconds expiresAt: Double) {
        let milliseconds = (expiresAt * 1000).rounded()
        self.init(token: token, expiresAt: Int64(max(0, min(milliseconds, 1e18))))
    }

    public var expiry: Date { Date(timeIntervalSince1970: Double(expiresAt) / 1000) }
}
