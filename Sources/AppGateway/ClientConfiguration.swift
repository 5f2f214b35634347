import CommandLineParsing
import Foundation
import JSON
import Shim
import Wire

/// The file of `--auth-config`: clients that sign their requests or send tokens.
struct ClientConfiguration: Decodable, Sendable {
    /// A chat app, whose requests are signed.
    struct App: Decodable, Sendable {
        var id: String
        var authKey: Secret
        var tokenSeconds: WholeNumber?
        var tokensValidFrom: WholeNumber?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case id
            case authKey = "auth_key"
            case tokenSeconds = "token_seconds"
            case tokensValidFrom = "tokens_valid_from"
        }

        /// Lifetime of a session; 15 minutes by default.
        var sessionSeconds: Int { Int(tokenSeconds?.value ?? 900) }
    }

    /// A product whose apps use the autocomplete SDK.
    struct Product: Decodable, Sendable {
        /// A UUID.
        var id: String
        /// Begins with `sk_v1_`.
        var secretKey: Secret?
        /// Begins with `pk_v1_`.
        var publicKey: Secret?
        /// Values of `X-App-Identifier` accepted with the public key; `nil`: any value, or no header.
        var appIdentifiers: [String]?
        var tokenSeconds: WholeNumber?
        var tokensValidFrom: WholeNumber?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case id
            case secretKey = "secret_key"
            case publicKey = "public_key"
            case appIdentifiers = "app_identifiers"
            case tokenSeconds = "token_seconds"
            case tokensValidFrom = "tokens_valid_from"
        }

        /// Lifetime of an access token; an hour by default.
        var accessSeconds: Int { Int(tokenSeconds?.value ?? 3600) }
    }

    /// A partner's server, which signs its requests.
    struct Partner: Decodable, Sendable {
        var id: String
        var secret: Secret

        enum CodingKeys: String, CodingKey, CaseIterable { case id, secret }
    }

    /// A custom route of an app: a model answers it under fixed instructions.
    struct Endpoint: Decodable, Sendable {
        /// The path without its slash.
        var name: String
        /// The system prompt.
        var system: String
        /// `nil`: the server's first model.
        var model: String?

        enum CodingKeys: String, CodingKey, CaseIterable { case name, system, model }
    }

    private(set) var apps: [App] = []
    private(set) var products: [Product] = []
    private(set) var partners: [Partner] = []
    private(set) var endpoints: [Endpoint] = []
    /// File that keeps sessions and seen signatures across restarts.
    private(set) var stateFile: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case apps, products, partners, endpoints
        case stateFile = "state_file"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        apps = try fields.decodeIfPresent([App].self, forKey: .apps) ?? []
        products = try fields.decodeIfPresent([Product].self, forKey: .products) ?? []
        partners = try fields.decodeIfPresent([Partner].self, forKey: .partners) ?? []
        endpoints = try fields.decodeIfPresent([Endpoint].self, forKey: .endpoints) ?? []
        stateFile = try fields.decodeIfPresent(String.self, forKey: .stateFile)
    }

    /// Reads the file and the secrets that it points to.
    init(file: String, environment: [String: String]) throws(UsageError) {
        do {
            let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: file)))
            let json = try JSON(body: bytes)
            self = try json.decoded(Self.self)
            try Self.checkNames(json)
            try readSecrets(environment)
            try validate()
        } catch {
            let reason = (error as? APIError)?.message ?? error.localizedDescription
            throw UsageError("--auth-config \(file): \(reason)")
        }
    }

    /// The files that hold its secrets.
    var secretFiles: [String] { secrets.compactMap(\.file) }

    private var secrets: [Secret] {
        apps.map(\.authKey) + products.flatMap { [$0.secretKey, $0.publicKey] }.compactMap { $0 }
            + partners.map(\.secret)
    }

    private mutating func readSecrets(_ environment: [String: String]) throws(APIError) {
        for index in apps.indices { try apps[index].authKey.read(environment, at: "apps[\(index)].auth_key") }
        for index in products.indices {
            let path = "products[\(index)]"
            try products[index].secretKey?.read(environment, at: "\(path).secret_key", prefix: "sk_v1_")
            try products[index].publicKey?.read(environment, at: "\(path).public_key", prefix: "pk_v1_")
        }
        for index in partners.indices { try partners[index].secret.read(environment, at: "partners[\(index)].secret") }
    }
}
