package import CommandLineParsing

/// Protocols of clients besides the server's own: a program registers their options, routes and authenticator.
package struct Gateway: Sendable {
    /// The gateway as the command line configures it.
    package struct Configured: Sendable {
        /// Whether clients have credentials other than API keys.
        package var hasClients: Bool
        package var warnings: [String]
        /// Called once, before the port is opened.
        package var start: @Sendable () throws -> Running

        package init(hasClients: Bool, warnings: [String], start: @escaping @Sendable () throws -> Running) {
            (self.hasClients, self.warnings, self.start) = (hasClients, warnings, start)
        }
    }

    package struct Running: Sendable {
        /// `nil`: there are no clients.
        package var authenticator: (any Authenticator)?
        /// The routes at present, with those of the server.
        package var routes: @Sendable () -> RouteTable
        /// Takes the place of stopping at SIGHUP; `nil` without clients.
        package var hangup: (@Sendable () -> Void)?

        package init(
            authenticator: (any Authenticator)?, routes: @escaping @Sendable () -> RouteTable,
            hangup: (@Sendable () -> Void)?
        ) {
            (self.authenticator, self.routes, self.hangup) = (authenticator, routes, hangup)
        }
    }

    package let options: [Option]
    /// Lines of the help that name its routes.
    package let summary: String
    package let configure: @Sendable (Arguments, [String: String]) throws(UsageError) -> Configured

    package init(
        options: [Option], summary: String,
        configure: @escaping @Sendable (Arguments, [String: String]) throws(UsageError) -> Configured
    ) {
        (self.options, self.summary, self.configure) = (options, summary, configure)
    }

    /// The server alone.
    static let none = Gateway(options: [], summary: "") { _, _ in
        Configured(hasClients: false, warnings: []) {
            Running(authenticator: nil, routes: { .server }, hangup: nil)
        }
    }
}
