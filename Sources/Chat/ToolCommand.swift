import Foundation
import Synchronization

/// Runs a program with JSON as input, without a shell.
struct ToolCommand: Sendable {
    /// The program and its arguments.
    let words: [String]
    let input: String
    let folder: URL
    let timeout: Duration

    /// Maximum bytes of output; the rest is read and dropped.
    private static let mostBytes = 64 << 10

    /// The command line, quoted for a shell.
    var description: String {
        words.map { word in
            word.wholeMatch(of: /[A-Za-z0-9_\/.,:=@%+-]+/) != nil
                ? word : "'" + word.replacing("'", with: "'\\''") + "'"
        }.joined(separator: " ")
    }

    /// - Returns: The output; for a failed command, an error text with its exit code and output.
    /// - Throws: `CancellationError`, after the command was terminated.
    func run() async throws -> String {
        guard let program = program() else { return "error: there is no program \(words[0])" }
        let process = Process()
        process.executableURL = program
        process.arguments = Array(words.dropFirst())
        process.currentDirectoryURL = folder
        let (output, complaints) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, complaints)
        // A file instead of a pipe: the command may not read its input, and writing to a closed pipe would end this
        // program.
        guard let arguments = tmpfile() else { return "error: there is no room for a temporary file" }
        defer { fclose(arguments) }
        let bytes = Array(input.utf8)
        guard fwrite(bytes, 1, bytes.count, arguments) == bytes.count else {
            return "error: there is no room for a temporary file"
        }
        rewind(arguments)
        process.standardInput = FileHandle(fileDescriptor: fileno(arguments), closeOnDealloc: false)
        let (ended, end) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in end.finish() }
        do { try Self.start(process) } catch { return "error: \(words[0]): \(error.localizedDescription)" }
        let (said, complained) = (Output(output, limit: Self.mostBytes), Output(complaints, limit: Self.mostBytes))
        let isInTime = await withTaskCancellationHandler {
            await Self.waits(for: ended, atMost: timeout)
        } onCancel: {
            end.finish()
        }
        if process.isRunning { await Self.end(process) }
        try Task.checkCancellation()
        guard isInTime else { return "error: the command took longer than \(timeout.components.seconds) s" }
        // Child processes of the command may keep the output open.
        for output in [said, complained] { _ = await Self.waits(for: output.ended, atMost: .seconds(1)) }
        guard process.terminationStatus != 0 else { return said.text }
        let more = [complained.text, said.text].filter { !$0.isEmpty }.joined(separator: "\n")
        return "error: exit code \(process.terminationStatus)" + (more.isEmpty ? "" : "\n\(more)")
    }

    /// Starts a process with no signals blocked. It inherits this thread's mask, and pool threads block most signals.
    private static func start(_ process: Process) throws {
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_UNBLOCK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
    }

    /// Terminates a process with SIGTERM, and after two seconds with SIGKILL.
    private static func end(_ process: Process) async {
        process.terminate()
        for _ in 0..<20 where process.isRunning { await pause() }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        while process.isRunning { await pause() }
    }

    /// Waits a tenth of a second, even if the task is cancelled.
    private static func pause() async {
        await withCheckedContinuation { done in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { done.resume() }
        }
    }

    /// - Returns: Whether the stream ended in time.
    private static func waits(for stream: AsyncStream<Void>, atMost limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in stream {}
                return true
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? true
        }
    }

    /// The program's file. A name with a slash is relative to `folder`; others are looked up in `PATH`.
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
}

/// Collects the output of a process.
private final class Output: Sendable {
    let ended: AsyncStream<Void>
    private let kept = Mutex(Data())

    /// - Parameter limit: Maximum bytes to keep; the rest is read and dropped.
    init(_ pipe: Pipe, limit: Int) {
        let (ended, end) = AsyncStream<Void>.makeStream()
        self.ended = ended
        let file = pipe.fileHandleForReading
        Thread.detachNewThread { [self] in
            while case let data = file.availableData, !data.isEmpty {
                kept.withLock { $0 += data.prefix(limit - $0.count) }
            }
            end.finish()
        }
    }

    var text: String { kept.withLock { String(decoding: $0, as: UTF8.self) }.trimmingCharacters(in: .newlines) }
}
