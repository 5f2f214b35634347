import Cryptography
import Foundation
import HTTP
import Shim
import Synchronization
import Wire

/// Authenticates clients that sign their requests or send tokens, and issues the tokens.
///
/// A refusal never says which check failed: key, signature, time or replay.
final class ClientAccess: Authenticator {
    private struct State {
        var configuration: ClientConfiguration
        var memory: ClientMemory
    }

    private let state: Mutex<State>
    private let table = Mutex(RouteTable.all)
    /// Seconds since 1970.
    private let now: @Sendable () -> Int
    /// Wrong signatures allowed per network. Each one is checked against every session of an app.
    private let failures = RateLimiter(perMinute: 120)
    /// Sessions checked for a network above its failure limit: only the latest that it opened itself.
    private static let triedSessions = 256

    init(
        _ configuration: ClientConfiguration, now: @escaping @Sendable () -> Int = { Int(Date().timeIntervalSince1970) }
    ) throws {
        let memory = try ClientMemory(file: configuration.stateFile, now: now())
        state = Mutex(State(configuration: configuration, memory: memory))
        self.now = now
        table.withLock { $0 = .withApps(self, configuration.endpoints) }
    }

    /// Replaces the configuration. Sessions stay valid unless the new configuration revokes them.
    func reload(_ configuration: ClientConfiguration) {
        state.withLock { $0.configuration = configuration }
        table.withLock { $0 = .withApps(self, configuration.endpoints) }
    }

    /// The server's routes and those of the configured endpoints.
    var routes: RouteTable { table.withLock { $0 } }

    /// Whether a request is signed: signatures cover the body.
    func coversBody(_ request: Request) -> Bool {
        request.headers[PartnerSignature.identityHeader] != nil || request.headers[RequestSignature.header] != nil
    }

    /// Without keys an app has to sign; clients of OpenAI's API know keys only.
    func refusal(accepting accepted: Credentials) -> APIError? {
        accepted.contains(.signing) ? .signatureRefused : nil
    }

    /// Authenticates a request by its signature, or by its key or token of the autocomplete SDK; `nil` if it has
    /// neither.
    ///
    /// - Parameter accepted: Credentials that the route accepts; others are refused.
    func principal(of request: Request, accepting accepted: Credentials) throws(APIError) -> Principal? {
        let headers = request.headers
        if coversBody(request) {
            let caller = RateLimiter.Caller(nil, at: request.network)
            let wait = failures.wait(for: caller)
            do throws(APIError) {
                guard headers[PartnerSignature.identityHeader] != nil else {
                    return try app(request, accepted, isSlowed: wait != nil)
                }
                guard accepted.contains(.partner) else { throw APIError.signatureRefused }
                return try partner(request)
            } catch {
                guard error == .signatureRefused else { throw error }
                _ = failures.take(caller)
                throw wait.map { APIError.tooManyFailures(wait: $0) } ?? error
            }
        }
        return try SDKCredential(headers).map { credential throws(APIError) in
            guard accepted.contains(.product) else { throw .credentialRefused }
            return try product(request, credential)
        }
    }

    // MARK: Signatures

    /// A key that may have signed a request: an app's auth key, or the token of one of its sessions.
    private struct Signer {
        let app: ClientConfiguration.App
        var session: AppSession?

        var key: String { session?.token ?? app.authKey.value }
        var principal: Principal { Principal(kind: .app, id: app.id, session: session?.name) }
    }

    /// - Parameter isSlowed: Whether to check only the network's latest sessions.
    private func app(
        _ request: Request, _ accepted: Credentials, isSlowed: Bool
    ) throws(APIError) -> Principal {
        guard let sent = request.headers.only(RequestSignature.header).flatMap(Self.bytes),
            let timestamp = request.headers.only(RequestSignature.timestampHeader), let time = recent(timestamp)
        else { throw .signatureRefused }
        let canonical = RequestSignature.canonicalString(
            method: request.method, path: request.signedPath, timestamp: timestamp, body: request.body.bytes ?? [])
        for signer in signers(accepted, of: isSlowed ? request.network : nil) {
            let signature = hmacSHA256(canonical.utf8, key: signer.key.utf8)
            guard isEqualInConstantTime(signature, sent) else { continue }
            try remember(signature, time, signer.principal, request)
            return signer.principal
        }
        throw .signatureRefused
    }

    /// Keys to check a signature against: the apps' auth keys or their sessions' tokens. A request does not name its
    /// key, so all are checked.
    ///
    /// - Parameter network: Limits the sessions to the latest of this network; `nil`: all.
    private func signers(_ accepted: Credentials, of network: String?) -> [Signer] {
        let (apps, sessions) = state.withLock { ($0.configuration.apps, $0.memory.sessions) }
        if accepted.contains(.appKey) { return apps.map { Signer(app: $0) } }
        guard accepted.contains(.appSession) else { return [] }
        let now = now()
        return apps.flatMap { app in
            var ofApp = sessions[app.id] ?? []
            if let network { ofApp = ofApp.filter { $0.network == network }.suffix(Self.triedSessions) }
            return ofApp.filter { $0.isValid(for: app, now: now) }.map { Signer(app: app, session: $0) }
        }
    }

    private func partner(_ request: Request) throws(APIError) -> Principal {
        let headers = request.headers
        guard let id = headers.only(PartnerSignature.identityHeader),
            let sent = headers.only(PartnerSignature.header).flatMap(Self.bytes),
            let nonce = headers.only(PartnerSignature.nonceHeader),
            let time = recent(nonce)
        else { throw .signatureRefused }
        let partner = state.withLock { $0.configuration.partners.first { $0.id.utf8.elementsEqual(id.utf8) } }
        let signature = Self.bytes(
            PartnerSignature.signature(
                identity: id, method: request.method, path: request.signedPath, body: request.body.bytes ?? [],
                nonce: nonce, secret: partner?.secret.value ?? ""))
        guard let signature, isEqualInConstantTime(signature, sent), let partner else { throw .signatureRefused }
        let principal = Principal(kind: .partner, id: partner.id)
        try remember(signature, time, principal, request)
        return principal
    }

    /// Parses seconds since 1970; `nil` if more than `SeenSignatures.window` from now.
    private func recent(_ text: String) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let time = Int(text),
            time.distance(to: now()).magnitude <= SeenSignatures.window
        else { return nil }
        return time
    }

    /// Parses a signature of 64 hexadecimal digits.
    private static func bytes(_ hexadecimal: String) -> [UInt8]? {
        let digits = hexadecimal.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map { UInt8($0) } }
        guard digits.count == 64, hexadecimal.utf8.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Refuses a signature that was seen before. Check and insertion are atomic, so of two concurrent copies one
    /// passes.
    private func remember(
        _ signature: [UInt8], _ time: Int, _ principal: Principal, _ request: Request
    ) throws(APIError) {
        let network = request.network
        switch try keeping({
            try $0.insert(signature, time: time, from: principal, at: network, now: now())
        }) {
        case .isNew: return
        case .isKnown: throw .signatureRefused
        case .isFull:
            var error = APIError(
                status: 503, kind: .server,
                message: "Too many signed requests with this key in the last minutes.",
                code: "too_many_signatures")
            error.retryAfter = 60
            throw error
        }
    }

    /// Changes `memory`. Throws a 503 if the change cannot be written to the state file.
    private func keeping<Result>(
        _ body: (inout ClientMemory) throws -> sending Result
    ) throws(APIError) -> Result {
        do { return try state.withLock { try body(&$0.memory) } } catch {
            var refusal = APIError(
                status: 503, kind: .server, message: "The server cannot write its state file.",
                code: "state_not_written")
            refusal.cause = "\(error)"
            throw refusal
        }
    }

    // MARK: Keys and tokens

    private func product(_ request: Request, _ credential: SDKCredential) throws(APIError) -> Principal {
        let products = state.withLock { $0.configuration.products }
        switch credential {
        case .several: throw .credentialRefused
        case .secretKey:
            throw APIError(
                status: 401, kind: .invalidRequest,
                message:
                    "Secret keys are for servers only. Apps send a public key or an access token from their server.",
                code: "secret_key_refused")
        case .publicKey(let key):
            guard let product = Self.owner(of: key, among: products, \.publicKey),
                isAllowed(request.headers.all("X-App-Identifier"), product)
            else { throw .credentialRefused }
            return Principal(kind: .product, id: product.id)
        case .accessToken(let text):
            let now = now()
            for product in products {
                guard let token = AutocompleteToken(text, product: product, now: now) else { continue }
                return Principal(kind: .product, id: product.id, session: token.name)
            }
            throw .credentialRefused
        }
    }

    private func isAllowed(_ identifiers: [String], _ product: ClientConfiguration.Product) -> Bool {
        guard let allowed = product.appIdentifiers else { return true }
        return identifiers.count == 1 && allowed.contains { $0.utf8.elementsEqual(identifiers[0].utf8) }
    }

    /// Compares with every product's key, so the time does not depend on which one matches.
    private static func owner(
        of key: String, among products: [ClientConfiguration.Product],
        _ known: KeyPath<ClientConfiguration.Product, Secret?>
    ) -> ClientConfiguration.Product? {
        let digest = SHA256.digest(of: key.utf8)
        return products.reduce(nil) { found, product in
            guard let secret = product[keyPath: known] else { return found }
            return isEqualInConstantTime(SHA256.digest(of: secret.value.utf8), digest) ? product : found
        }
    }

    // MARK: Issuing

    /// Opens a session for an app that signed with its auth key.
    ///
    /// - Parameter network: Network that the request came from.
    func newSession(for principal: Principal?, at network: String) throws(APIError) -> AppSession {
        let app = state.withLock { state in state.configuration.apps.first { $0.id == principal?.id } }
        guard let app, principal == Principal(kind: .app, id: app.id) else { throw .signatureRefused }
        let session = AppSession(app: app, network: network, now: now())
        try keeping { try $0.add(session, now: now()) }
        return session
    }

    /// The product whose secret key the request carries in `Authorization`.
    func product(ofSecretKeyIn headers: Headers) -> ClientConfiguration.Product? {
        guard case .secretKey(let key) = SDKCredential(headers) else { return nil }
        return Self.owner(of: key, among: state.withLock { $0.configuration.products }, \.secretKey)
    }

    func newToken(for product: ClientConfiguration.Product) -> (text: String, expires: Int) {
        let token = AutocompleteToken(product: product, now: now())
        return (token.text(product.secretKey?.value ?? ""), token.expires)
    }
}

extension APIError {
    static let signatureRefused = APIError(
        status: 401, kind: .invalidRequest,
        message: "The request's signature is invalid or expired. Sign the request again, with the current time.",
        code: "invalid_signature")

    fileprivate static func tooManyFailures(wait: Duration) -> Self {
        var error = APIError(
            status: 429, kind: .rateLimit,
            message: "Too many requests from this address were signed with unknown keys.",
            code: "too_many_failures")
        error.retryAfter = Int((wait / .seconds(1)).rounded(.up))
        return error
    }

    fileprivate static let credentialRefused = APIError(
        status: 401, kind: .invalidRequest, message: "Invalid key or token.", code: "invalid_api_key")
}

extension Headers {
    /// The value of a header that occurs exactly once.
    fileprivate func only(_ name: String) -> String? {
        let values = all(name)
        return values.count == 1 ? values[0] : nil
    }
}

extension Request {
    /// The target's path as sent, still percent-encoded, without the query.
    fileprivate var signedPath: String {
        var origin = Substring(target)
        if origin.utf8.first != UInt8(ascii: "/"), let scheme = origin.range(of: "://") {
            origin = origin[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }
        }
        let path = origin.prefix { $0 != "?" }
        return path.isEmpty ? "/" : String(path)
    }
}
