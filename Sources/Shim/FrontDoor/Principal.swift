/// Who a request comes from, as `FrontDoor` found out. Nothing in it is secret: it may be logged, and counted by.
struct Principal: Hashable, Sendable {
    enum Kind: String, Sendable {
        case apiKey = "api_key"
        case app, product, partner
    }

    var kind: Kind
    /// The key's public name: an app's name, a product's or a partner's id as configured; of API keys the number.
    var id: String
    /// Tells the holders of tokens apart that one key has led to; `nil` where the request showed the key itself.
    var session: String?

    /// Whether the request showed what every copy of an app has: its auth key or public key.
    var isManyDevices: Bool {
        switch kind {
        case .app, .product: session == nil
        case .apiKey, .partner: false
        }
    }
}
