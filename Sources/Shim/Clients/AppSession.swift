import Wire

/// What an app's device signs its requests with for a while.
struct AppSession: Codable, Sendable {
    let app: String
    /// 64 hexadecimal digits at random: the key, as the app has it.
    let token: String
    /// Seconds since 1970.
    let issued: Int
    let expires: Int
    /// Where it was asked for; `nil` in files that an earlier version has written.
    var network: String?

    init(app: ClientConfiguration.App, network: String, now: Int) {
        self.app = app.id
        token = randomBytes(32).hexadecimal
        issued = now
        self.network = network
        expires = now + app.sessionSeconds
    }

    func isValid(for app: ClientConfiguration.App, now: Int) -> Bool {
        now < expires && issued >= Int(app.tokensValidFrom?.value ?? 0)
    }

    /// Tells the session from others, and nothing of its token.
    var name: String { String(SHA256.digest(of: token.utf8).hexadecimal.prefix(16)) }
}
