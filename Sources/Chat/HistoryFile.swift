import CommandLineParsing
import Foundation
import LocalLLM

/// Locations of the history files.
enum HistoryFile {
    /// Path of the history; `nil`: in memory only, as for messages from a pipe or the command line, which do not belong
    /// in the terminal's history.
    static func path(_ arguments: Arguments) throws -> String? {
        if arguments.has("--no-history") {
            guard !arguments.has("--history") else { throw UsageError("--history and --no-history exclude each other") }
            return nil
        }
        if let path = arguments.string("--history") { return path }
        guard isatty(STDIN_FILENO) == 1, arguments.operands.isEmpty else { return nil }
        let folder = dataFolder(ProcessInfo.processInfo.environment)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder.appending(path: "history.sqlite").path
    }

    /// File of the typed lines, next to the history; `nil` without history.
    static func lines(beside history: String?) -> String? { history.map { $0 + ".lines" } }
}
