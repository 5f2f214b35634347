/// The authenticated sender of a request. Holds no secret, so it may be logged.
struct Principal: Hashable, Sendable {
    /// The kind of credential. An authenticator declares its own.
    struct Kind: Hashable, Sendable {
        /// The name in the log and in state files.
        let rawValue: String
        /// Whether every copy of an app has the credential, unless it is the token of a session.
        let isInEveryCopy: Bool

        init(_ name: String, isInEveryCopy: Bool = false) {
            rawValue = name
            self.isInEveryCopy = isInEveryCopy
        }

        static let apiKey = Self("api_key")
    }

    var kind: Kind
    /// The configured id; for API keys their number.
    var id: String
    /// Tells apart the tokens issued for one key; `nil` if the request carried the key itself.
    var session: String?

    /// Whether the credential is one that many devices have, such as the key of an app.
    var isManyDevices: Bool { kind.isInEveryCopy && session == nil }
}
