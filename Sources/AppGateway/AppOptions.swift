import CommandLineParsing
import Foundation
package import Shim

extension Gateway {
    /// The protocols of the chat app and of the autocomplete SDK.
    package static let apps = Gateway(
        options: AppOptions.all,
        summary: "for apps /chatgpt, /chatgpt-simple, /api/suggest, and with --upstream /dalle and /vision"
    ) { arguments, environment throws(UsageError) in
        let options = try AppOptions(arguments, environment: environment)
        return Configured(hasClients: options.configuration != nil, warnings: options.warnings, start: options.start)
    }
}

/// The command-line option of the app protocols.
struct AppOptions: Sendable {
    static let all = [
        Option(
            "--auth-config", value: "FILE",
            help: "clients with signed requests or access tokens, and their secrets (docs/clients.md)")
    ]

    /// Configured clients; `nil` without the option.
    let configuration: ClientConfiguration?
    /// The path of their file.
    private let file: String

    init(_ arguments: Arguments, environment: [String: String]) throws(UsageError) {
        let file = arguments.string("--auth-config")
        self.file = file ?? ""
        configuration = try file.map { file throws(UsageError) in
            try ClientConfiguration(file: file, environment: environment)
        }
    }

    var warnings: [String] {
        guard let configuration else { return [] }
        let readable = configuration.secretFiles.filter(APIKeys.isReadableByAll).map(APIKeys.readableByAll)
        guard configuration.stateFile == nil else { return readable }
        return readable + [
            """
            \(file) has no state_file: sessions are lost on restart, and a signed request can be replayed within \
            five minutes of a restart
            """
        ]
    }

    @Sendable func start() throws -> Gateway.Running {
        guard let configuration else { return .init(authenticator: nil, routes: { .all }, hangup: nil) }
        let clients = try ClientAccess(configuration)
        return .init(authenticator: clients, routes: { clients.routes }, hangup: { reload(clients) })
    }

    /// Reads the file again. An invalid file leaves the clients as they are.
    private func reload(_ clients: ClientAccess) {
        do {
            clients.reload(try ClientConfiguration(file: file, environment: ProcessInfo.processInfo.environment))
            Shim.complain("reloaded \(file)")
        } catch {
            Shim.complain("\(error)\nThe previous clients stay in effect.")
        }
    }
}
