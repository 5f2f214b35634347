/// The authenticated sender of a request. Holds no secret, so it may be logged.
package struct Principal: Hashable, Sendable {
    /// The kind of credential. An authenticator declares its own.
    package struct Kind: Hashable, Sendable {
        /// The name in the log and in state files.
        package let rawValue: String
        /// Whether every copy of an app has the credential, unless it is the token of a session.
        package let isInEveryCopy: Bool

        package init(_ name: String, isInEveryCopy: Bool = false) {
            rawValue = name
            self.isInEveryCopy = isInEveryCopy
        }

        static let apiKey = Self("api_key")
    }

    package var kind: Kind
    /// The configured id; for API keys their number.
    package var id: String
    /// Tells apart the tokens issued for one key; `nil` if the request carried the key itself.
    package var session: String?

    package init(kind: Kind, id: String, session: String? = nil) {
        (self.kind, self.id, self.session) = (kind, id, session)
    }

    /// Whether the credential is one that many devices have, such as the key of an app.
    package var isManyDevices: Bool { kind.isInEveryCopy && session == nil }
}
