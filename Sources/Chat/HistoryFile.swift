import CommandLineParsing
import Foundation

/// Where conversations are kept.
enum HistoryFile {
    /// `nil` for a conversation that ends with the program: what a pipe says does not belong into the one of the terminal.
    static func path(_ arguments: Arguments) throws -> String? {
        if arguments.has("--no-history") {
            guard !arguments.has("--history") else { throw UsageError("--history and --no-history exclude each other") }
            return nil
        }
        if let path = arguments.string("--history") { return path }
        guard isatty(STDIN_FILENO) == 1 else { return nil }
        let folder = dataFolder(ProcessInfo.processInfo.environment).appending(path: "localllm")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder.appending(path: "history.sqlite").path
    }

    /// By the XDG Base Directory Specification, which has paths that are not absolute ignored.
    private static func dataFolder(_ environment: [String: String]) -> URL {
        if let path = environment["XDG_DATA_HOME"], path.utf8.first == UInt8(ascii: "/") {
            return URL(fileURLWithPath: path)
        }
        return FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/share")
    }
}
