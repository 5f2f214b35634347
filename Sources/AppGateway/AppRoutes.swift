import Shim

extension Credentials {
    /// A signature with the token of an app's session.
    static let appSession = Self.user
    /// A signature with a partner's secret.
    static let partner = Self.trusted
    /// A signature with an app's auth key, which every copy of the app has.
    static let appKey = Self(rawValue: firstOwn)
    /// A public key or an access token of the autocomplete SDK.
    static let product = Self(rawValue: firstOwn << 1)
    /// Not a credential: marks routes for apps, where a request without credentials is told to sign.
    static let signing = Self(rawValue: firstOwn << 2)
}

extension Principal.Kind {
    static let app = Self("app", isInEveryCopy: true)
    static let product = Self("product", isInEveryCopy: true)
    static let partner = Self("partner")
}

extension RouteTable {
    /// The server's routes and those of the app protocols, without configured clients.
    static let all = withApps(nil, [])

    /// Adds the routes of the app protocols, and one for each configured endpoint.
    ///
    /// - Parameter clients: Issues sessions and tokens, and may own the table; `nil`: these routes answer that no clients are configured.
    static func withApps(_ clients: ClientAccess?, _ endpoints: [ClientConfiguration.Endpoint]) -> Self {
        let apps: Route.Access = .clients([.standard, .signing])
        // Apps may append any path to their endpoints; it is part of the signature and leads to the same route.
        let own = [
            Route(
                "POST", "/auth_token", "/auth_token/", "/auth_token/{rest*}",
                access: .clients([.apiKey, .appKey, .signing]), bodyBytes: 1 << 16
            ) { [weak clients] context, _ in try issueSession(context, clients) },
            Route("POST", "/chatgpt", "/chatgpt/", "/chatgpt/{rest*}", access: apps, handler: answerConversation),
            Route(
                "POST", "/chatgpt-simple", "/chatgpt-simple/", "/chatgpt-simple/{rest*}", access: apps,
                handler: answerPrompt),
            Route("POST", "/dalle", "/dalle/", "/dalle/{rest*}", access: apps, handler: answerWithImage),
            Route(
                "POST", "/vision", "/vision/", "/vision/{rest*}", access: apps, takesImages: true,
                handler: answerAboutImage),
            Route(
                "POST", "/api/suggest", access: .clients([.apiKey, .partner, .product]), bodyBytes: 1 << 20,
                handler: suggest),
            Route(
                "POST", "/api/auth/token", access: clients == nil ? .clients(.apiKey) : .checkedByHandler,
                bodyBytes: 1 << 16
            ) { [weak clients] context, _ in try issueAccessToken(context, clients) },
        ]
        return Self(server.routes + own + endpoints.map { Route($0, access: apps) })
    }
}
