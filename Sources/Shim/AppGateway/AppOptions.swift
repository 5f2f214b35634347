import CommandLineParsing
import Foundation

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

    /// On each SIGHUP reads the file again. An invalid file leaves the clients as they are.
    func reloading(_ clients: ClientAccess) -> HangupSignal {
        HangupSignal { [file] in
            do {
                clients.reload(try ClientConfiguration(file: file, environment: ProcessInfo.processInfo.environment))
                Shim.complain("reloaded \(file)")
            } catch {
                Shim.complain("\(error)\nThe previous clients stay in effect.")
            }
        }
    }
}
