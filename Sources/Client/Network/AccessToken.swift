public import Foundation

/// A token with an expiry time.
public struct AccessToken: Codable, Equatable, Sendable {
    public var token: String
    /// Milliseconds since 1970.
    public var expiresAt: Int64

    public init(token: String, expiresAt: Int64) {
        self.token = token
        self.expiresAt = expiresAt
    }

    /// - Parameter expiresAt: Seconds since 1970, clamped to valid dates.
    init(token: String, expiresAtSeconds expiresAt: Double) {
        let milliseconds = (expiresAt * 1000).rounded()
        self.init(token: token, expiresAt: Int64(max(0, min(milliseconds, 1e18))))
    }

    /// `expiresAt` as a date.
    public var expiry: Date { Date(timeIntervalSince1970: Double(expiresAt) / 1000) }
}
