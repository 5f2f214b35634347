/// The authenticated sender of a request. Holds no secret, so it may be logged.
struct Principal: Hashable, Sendable {
    enum Kind: String, Sendable {
        case apiKey = "api_key"
        case app, product, partner
    }

    var kind: Kind
    /// The configured id of an app, product or partner; for API keys their number.
    var id: String
    /// Tells apart the tokens issued for one key; `nil` if the request carried the key itself.
    var session: String?

    /// Whether the credential is one that every copy of an app has: its auth key or public key.
    var isManyDevices: Bool {
        switch kind {
        case .app, .product: session == nil
        case .apiKey, .partner: false
        }
    }
}
