import CommandLineParsing
import Foundation
import HTTP
import Providers

/// Command-line options of the upstream.
struct UpstreamOptions: Sendable {
    /// When a request for a local model is forwarded to the upstream.
    enum Occasion: String, CaseIterable, Sendable {
        /// The server's queue is full.
        case busy
        /// The prompt is longer than the model's context.
        case tooLong = "too-long"
    }

    static let all = [
        Option(
            "--upstream", value: "URL",
            help: "API for other models, image generation and image input, e.g. https://host/v1"),
        Option(
            "--upstream-api", value: "NAME",
            help: "whose API the upstream speaks: \(ServiceAPI.names) (default: \(ServiceAPI.openAI.rawValue))"),
        Option(
            "--upstream-key-file", value: "FILE", default: "$LOCALLLM_UPSTREAM_KEY",
            help: "file with the upstream's API key"),
        Option("--upstream-model", value: "NAME", help: "upstream model for requests that name none of its models"),
        Option(
            "--upstream-when", value: "LIST",
            help:
                "when to forward chats for local models: busy (queue full), too-long (prompt exceeds the context), or both"
        ),
        Option(
            "--upstream-timeout", value: "SECONDS", default: "120", help: "maximum silence before a request fails"),
    ]

    var api: ServiceAPI
    var host: String
    var port: UInt16
    var usesTLS: Bool
    /// Percent-encoded, without trailing slash; endpoint paths are appended.
    var basePath: String
    var key: String?
    var keyFile: String?
    var model: String?
    var occasions: Set<Occasion>
    var silence: Duration

    /// - Returns: `nil` without `--upstream`.
    init?(_ arguments: Arguments, environment: [String: String]) throws(UsageError) {
        guard let text = arguments.string("--upstream") else {
            if let stray = Self.all.first(where: { arguments.has($0.names[0]) }) {
                throw UsageError("\(stray.names[0]) needs --upstream")
            }
            return nil
        }
        (host, port, usesTLS, basePath) = try Self.address(text)
        let name = arguments.string("--upstream-api") ?? ServiceAPI.openAI.rawValue
        guard let api = ServiceAPI(rawValue: name) else {
            throw UsageError("--upstream-api: expected \(ServiceAPI.names), found '\(name)'")
        }
        self.api = api
        keyFile = arguments.string("--upstream-key-file")
        key = environment["LOCALLLM_UPSTREAM_KEY"]
        if let key, !APIKeys.canBeSent(key) {
            throw UsageError("LOCALLLM_UPSTREAM_KEY: expected a key of visible ASCII characters; unset it to have none")
        }
        if let keyFile {
            let keys = try APIKeys.keys(in: keyFile, for: "--upstream-key-file")
            guard keys.count == 1 else {
                throw UsageError("--upstream-key-file \(keyFile): expected one key, found \(keys.count)")
            }
            key = keys[0]
        }
        model = arguments.string("--upstream-model")
        occasions = []
        for word in arguments.strings("--upstream-when").flatMap({ $0.split(separator: ",") }) {
            guard let occasion = Occasion(rawValue: String(word)) else {
                throw UsageError("--upstream-when: expected busy, too-long or busy,too-long, found '\(word)'")
            }
            occasions.insert(occasion)
        }
        guard occasions.isEmpty || model != nil else {
            throw UsageError("--upstream-when needs --upstream-model")
        }
        silence = .seconds(try arguments.int("--upstream-timeout", in: 1...86400) ?? 120)
    }

    private static func address(
        _ text: String
    ) throws(UsageError) -> (host: String, port: UInt16, usesTLS: Bool, basePath: String) {
        let wrong = UsageError("--upstream: expected a URL such as https://api.example.org/v1, found '\(text)'")
        guard let parts = URLComponents(string: text), let host = parts.encodedHost, !host.isEmpty,
            host.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), parts.query == nil, parts.fragment == nil
        else { throw wrong }
        guard parts.user == nil, parts.password == nil else {
            // The URL may hold a secret, so it is not printed.
            throw UsageError("--upstream: the URL must not contain a key; use --upstream-key-file")
        }
        let usesTLS: Bool
        switch parts.scheme?.lowercased() {
        case "https": usesTLS = true
        case "http": usesTLS = false
        default: throw wrong
        }
        guard let port = UInt16(exactly: parts.port ?? (usesTLS ? 443 : 80)), port > 0 else { throw wrong }
        var path = parts.percentEncodedPath
        while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        let isBracketed = host.utf8.first == UInt8(ascii: "[")
        return (isBracketed ? String(host.dropFirst().dropLast()) : host, port, usesTLS, path)
    }

    /// Warnings at startup about how the key is stored and sent.
    var warnings: [String] {
        var warnings: [String] = []
        if let keyFile, APIKeys.isReadableByAll(keyFile) {
            warnings.append("\(keyFile) is readable by every user of this machine; run chmod o-r")
        }
        if key != nil, !usesTLS, !isLoopback(host) {
            warnings.append("the upstream key is sent to \(host) unencrypted; use https")
        }
        return warnings
    }
}

extension ServiceAPI {
    fileprivate static var names: String { allCases.map(\.rawValue).joined(separator: " or ") }
}
