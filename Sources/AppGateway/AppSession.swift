import Cryptography
import Shim
import Wire

/// A short-lived key with which one device of an app signs its requests.
struct AppSession: Codable, Sendable {
    let app: String
    /// The signing key: 64 random hexadecimal digits.
    let token: String
    /// Seconds since 1970.
    let issued: Int
    let expires: Int
    /// Network that requested the session (`Request.network`); `nil` in state files of earlier versions.
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

    /// Public identifier of the session. It does not reveal the token.
    var name: String { String(SHA256.digest(of: token.utf8).hexadecimal.prefix(16)) }
}
