import Foundation
import Synchronization

/// A program that runs once, with JSON as its input and without a shell.
struct ToolCommand: Sendable {
    /// The program and its arguments.
    let words: [String]
    let input: String
    let folder: URL
    let timeout: Duration

    /// Most bytes of the output that count; the rest is read and dropped.
    private static let mostBytes = 64 << 10

    /// As one could type it into a shell.
    var description: String {
        words.map { word in
            word.wholeMatch(of: /[A-Za-z0-9_\/.,:=@%+-]+/) != nil
                ? word : "'" + word.replacing("'", with: "'\\''") + "'"
        }.joined(separator: " ")
    }

    /// - Returns: The output; of a command that fails, what it said and its exit code.
    /// - Throws: `CancellationError`, after the command was ended.
    func run() async throws -> String {
        guard let program = program() else { return "error: there is no program \(words[0])" }
        let process = Process()
        process.executableURL = program
        process.arguments = Array(words.dropFirst())
        process.currentDirectoryURL = folder
        let (input, output, complaints) = (Pipe(), Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, complaints)
        let (ended, end) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in end.finish() }
        do { try process.run() } catch { return "error: \(words[0]): \(error.localizedDescription)" }
        write(to: input)
        async let text = Self.read(output)
        async let problems = Self.read(complaints)
        let child = Child(process)
        let isInTime = await withTaskCancellationHandler {
            await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    for await _ in ended {}
                    return true
                }
                group.addTask {
                    try? await Task.sleep(for: timeout)
                    return false
                }
                let isFirst = await group.next() ?? true
                if !isFirst { child.end() }
                group.cancelAll()
                return isFirst
            }
        } onCancel: {
            child.end()
        }
        try Task.checkCancellation()
        guard isInTime else { return "error: the command took longer than \(timeout.components.seconds) s" }
        let (said, complained) = (await text, await problems)
        guard process.terminationStatus != 0 else { return said }
        let more = [complained, said].filter { !$0.isEmpty }.joined(separator: "\n")
        return "error: exit code \(process.terminationStatus)" + (more.isEmpty ? "" : "\n\(more)")
    }

    /// A name with a slash is relative to the folder, another is looked up in `PATH`.
    private func program() -> URL? {
        if words[0].contains("/") {
            let file = URL(fileURLWithPath: words[0], relativeTo: folder)
            return FileManager.default.isExecutableFile(atPath: file.path) ? file : nil
        }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { URL(fileURLWithPath: "\($0)/\(words[0])") }.first {
            FileManager.default.isExecutableFile(atPath: $0.path)
        }
    }

    /// A command need not read its input: then the pipe breaks, which is no error.
    private func write(to pipe: Pipe) {
        let data = Data(input.utf8)
        DispatchQueue.global().async {
            try? pipe.fileHandleForWriting.write(contentsOf: data)
            try? pipe.fileHandleForWriting.close()
        }
    }

    private static func read(_ pipe: Pipe) async -> String {
        await withCheckedContinuation { done in
            DispatchQueue.global().async {
                var kept = Data()
                while case let data = pipe.fileHandleForReading.availableData, !data.isEmpty {
                    kept += data.prefix(mostBytes - kept.count)
                }
                done.resume(returning: String(decoding: kept, as: UTF8.self).trimmingCharacters(in: .newlines))
            }
        }
    }
}

/// A process that can be ended from any thread.
private final class Child: Sendable {
    private let process: Mutex<Process>

    init(_ process: sending Process) { self.process = Mutex(process) }

    func end() { process.withLock { if $0.isRunning { $0.terminate() } } }
}
