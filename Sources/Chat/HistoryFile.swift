import CommandLineParsing
import Foundation
import LocalLLM

/// Where conversations are kept.
enum HistoryFile {
    /// `nil` for a conversation that ends with the program: what a pipe or a command line says does not belong into the one of
    /// the terminal.
    static func path(_ arguments: Arguments) throws -> String? {
        if arguments.has("--no-history") {
            guard !arguments.has("--history") else { throw UsageError("--history and --no-history exclude each other") }
            return nil
        }
        if let path = arguments.string("--history") { return path }
        guard isatty(STDIN_FILENO) == 1, arguments.operands.isEmpty else { return nil }
        let folder = DataFolder.url(ProcessInfo.processInfo.environment)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder.appending(path: "history.sqlite").path
    }

    /// Where the lines that were typed are kept for the keys that bring them back: beside the conversations.
    static func lines(beside history: String?) -> String? { history.map { $0 + ".lines" } }
}
