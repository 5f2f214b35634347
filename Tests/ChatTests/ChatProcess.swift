import Foundation
import TestSupport

/// The program with its input open, as someone who types uses it.
final class ChatProcess {
    private let process = Process()
    private let input = Pipe()
    private let lines: AsyncStream<String>
    private let ended: AsyncStream<Int32>

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let output = Pipe()
        process.executableURL = Program.chat.url
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (lines, line) = AsyncStream<String>.makeStream()
        self.lines = lines
        Thread.detachNewThread {
            var rest = Data()
            while true {
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { return line.finish() }
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    line.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
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

    func type(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Reads on until a line contains a text.
    ///
    /// - Returns: Whether one did before the program ended.
    func wait(for text: String) async -> Bool { await lines.contains { $0.contains(text) } }

    func kill() { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }

    /// Ends the input and waits for the program's end.
    func end() async throws -> Int32 {
        try input.fileHandleForWriting.close()
        return await code()
    }

    func code() async -> Int32 { await ended.first { _ in true } ?? -1 }
}
