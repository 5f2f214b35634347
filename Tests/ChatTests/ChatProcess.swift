import Foundation
import TestSupport

/// The program with its input open, as someone who types uses it.
final class ChatProcess {
    private let process = Process()
    private let input = Pipe()
    private let pieces: AsyncStream<Data>
    /// What has come and was not waited for.
    private var rest = Data()
    private let ended: AsyncStream<Int32>
    private let home: TemporaryDirectory

    /// - Parameter environment: Besides that of `Program`.
    convenience init(_ arguments: [String], environment: [String: String] = [:]) throws {
        try self.init(Program.chat.url, arguments, environment)
    }

    /// In a terminal of its own, which sends what is typed through the kernel's line discipline and shows output and
    /// complaints.
    ///
    /// - Parameter shell: Commands; `$CHAT` is the program.
    convenience init(inTerminal shell: String, environment: [String: String] = [:]) throws {
        let environment = environment.merging(["CHAT": Program.chat.url.path, "SHELL": "/bin/sh"]) { $1 }
        try self.init(URL(filePath: "/usr/bin/script"), ["-qefc", shell, "/dev/null"], environment)
    }

    private init(_ program: URL, _ arguments: [String], _ environment: [String: String]) throws {
        let output = Pipe()
        home = try TemporaryDirectory()
        process.executableURL = program
        process.arguments = arguments
        process.environment = Program.environment(home: home, environment)
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (pieces, piece) = AsyncStream<Data>.makeStream()
        self.pieces = pieces
        Thread.detachNewThread {
            while true {
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { return piece.finish() }
                piece.yield(data)
            }
        }
        let (ended, end) = AsyncStream<Int32>.makeStream()
        self.ended = ended
        process.terminationHandler = { process in
            end.yield(process.terminationStatus)
            end.finish()
        }
        try process.run()
    }

    deinit { kill() }

    func type(_ line: String) throws { try press(line + "\n") }

    func press(_ keys: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(keys.utf8)) }

    /// Reads on until a text has come.
    ///
    /// - Returns: What came before it; `nil` if it had not come when the program ended.
    func read(to text: String) async -> String? {
        while true {
            if let range = rest.range(of: Data(text.utf8)) {
                defer { rest = Data(rest[range.upperBound...]) }
                return String(decoding: rest[..<range.lowerBound], as: UTF8.self)
            }
            guard let piece = await pieces.first(where: { _ in true }) else { return nil }
            rest += piece
        }
    }

    func kill() { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }

    /// Ends the input and waits for the program's end.
    func end() async throws -> Int32 {
        try input.fileHandleForWriting.close()
        return await code()
    }

    func code() async -> Int32 { await ended.first { _ in true } ?? -1 }
}
