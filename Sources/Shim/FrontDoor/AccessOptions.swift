import CommandLineParsing
import Foundation
import HTTP

/// Command-line options about access to the server: keys, origins, TLS, rate limit, log.
struct AccessOptions: Sendable {
    static let all = [
        Option(
            "--api-key-file", value: "FILE",
            help: "API keys that clients may use, one per line; $LOCALLLM_API_KEY adds one"),
        Option("--allow-remote", help: "accept requests from other machines without API keys"),
        Option(
            "--allowed-host", value: "NAME", repeats: true,
            help: "additional host name of this server, e.g. behind a proxy; with :PORT unless it is 443"),
        Option(
            "--trusted-proxy", value: "ADDRESS", repeats: true,
            help: "trust X-Forwarded-For from this address or range, e.g. 10.0.0.0/8"),
        Option(
            "--cors-origin", value: "ORIGIN", default: "none", repeats: true,
            help: "allow pages of this origin; * for all, only with keys"
        ),
        Option("--tls-cert", value: "FILE", help: "serve HTTPS with this certificate chain (PEM)"),
        Option("--tls-key", value: "FILE", help: "private key of the certificate (PEM)"),
        Option("--drain", value: "SECONDS", default: "25", help: "time for running requests to finish after SIGTERM"),
        Option(
            "--rate-limit", value: "N", help: "maximum requests per minute and key, or per address without keys"),
        Option("--log-prompts", help: "log the text of requests"),
    ]

    var keys: APIKeys
    /// The file of `--api-key-file`.
    var keyFile: String?
    var origins: OriginPolicy
    /// Paths of the certificate chain and its key.
    var certificate: (chain: String, key: String)?
    var proxies = TrustedProxies()
    var drain: Duration
    /// Requests a minute.
    var rateLimit: Int?
    var logsPrompts: Bool

    /// - Parameters:
    ///   - host: The address that the server listens on.
    ///   - hasAuthenticator: Whether clients have credentials other than API keys.
    init(
        _ arguments: Arguments, host: String, hasAuthenticator: Bool,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(UsageError) {
        keyFile = arguments.string("--api-key-file")
        keys = try APIKeys(file: keyFile, variable: environment["LOCALLLM_API_KEY"])
        let isOpen = keys.isEmpty && !hasAuthenticator
        let isLocal = isLoopback(host)
        if !isLocal, isOpen, !arguments.has("--allow-remote") {
            throw UsageError(
                """
                --host \(host) accepts requests from other machines, and no API keys are configured. \
                Add --api-key-file or --auth-config, or --allow-remote to serve without keys.
                """)
        }
        origins = OriginPolicy(
            corsOrigins: arguments.strings("--cors-origin"), hosts: arguments.strings("--allowed-host") + [host],
            hostCheck: isLocal ? .loopback : isOpen ? .addresses : .none)
        for origin in origins.corsOrigins {
            // Without keys, every page opened in a browser on this machine could use the server.
            if origin == "*", isOpen {
                throw UsageError(
                    "--cors-origin '*' needs keys: add --api-key-file or --auth-config, or name the origins")
            }
            if origin != "*" { try Self.checkOrigin(origin) }
        }
        for host in origins.hosts where host.contains("/") || host.contains(" ") || host.isEmpty {
            throw UsageError("--allowed-host: expected a host's name, or name:port, without a scheme, found '\(host)'")
        }

        for proxy in arguments.strings("--trusted-proxy") where !proxies.insert(proxy) {
            throw UsageError("--trusted-proxy: expected an IP address or a range such as 10.0.0.0/8, found '\(proxy)'")
        }

        switch (arguments.string("--tls-cert"), arguments.string("--tls-key")) {
        case (nil, nil): certificate = nil
        case (let chain?, let key?): certificate = (chain, key)
        case (_?, nil): throw UsageError("--tls-cert needs --tls-key")
        case (nil, _?): throw UsageError("--tls-key needs --tls-cert")
        }
        drain = .seconds(try arguments.int("--drain", in: 0...86400) ?? 25)
        rateLimit = try arguments.int("--rate-limit", in: 1...1_000_000)
        logsPrompts = arguments.has("--log-prompts")
    }

    /// Refuses spellings that browsers never send: origins are compared byte by byte.
    private static func checkOrigin(_ origin: String) throws(UsageError) {
        if origin == "null" { return }
        let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].hasSuffix(":"), parts[1].isEmpty, !parts[2].isEmpty, !parts[2].contains("*"),
            origin.utf8.elementsEqual(origin.lowercased().utf8), origin.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw UsageError(
                "--cors-origin: expected an origin such as https://example.org or http://localhost:3000, "
                    + "found '\(origin)'")
        }
    }

    var warnings: [String] { [keyFile].compactMap { $0 }.filter(APIKeys.isReadableByAll).map(APIKeys.readableByAll) }

    func tlsIdentity() throws(NetworkError) -> TLSIdentity? {
        guard let certificate else { return nil }
        return try TLSIdentity(certificateFile: certificate.chain, privateKeyFile: certificate.key)
    }
}
