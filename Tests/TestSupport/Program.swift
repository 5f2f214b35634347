public import Foundation

/// Runs a program like a user or script: with arguments and input, returning output, errors and exit code.
public enum Program: String, Sendable {
    case bench, chat, shim

    public struct Result: Sendable {
        public let code: Int32
        public let output: Data
        public let complaints: String

        public var text: String { String(decoding: output, as: UTF8.self) }
        public var lines: [String] { text.split(separator: "\n").map(String.init) }
    }

    /// Whether the program ends with a code, and not by a signal, when nothing can be written to its standard error.
    public func survivesFullDisk(_ arguments: String...) throws -> Bool {
        let process = Process()
        process.executableURL = url
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle(forWritingAtPath: "/dev/full")
        try process.run()
        process.waitUntilExit()
        return process.terminationReason == .exit
    }

    /// The program's file, which the build puts beside the test runner.
    public var url: URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: rawValue)
    }

    public func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) async throws -> Result {
        try await run(arguments, input: input, environment: environment)
    }

    public func run(
        _ arguments: [String], input: String = "", environment: [String: String] = [:]
    ) async throws -> Result {
        try await Self.run(url, arguments, input: input, environment: environment)
    }

    /// This process's environment, without the settings and the models of the person who runs the tests.
    public static func environment(home: TemporaryDirectory, _ own: [String: String]) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("XDG_") && !$0.key.hasPrefix("LOCALLLM_") }
        environment["HOME"] = home.url.path
        return environment.merging(own) { $1 }
    }

    /// Runs any program.
    public static func run(
        _ program: URL, _ arguments: [String], input: String = "", environment: [String: String] = [:]
    ) async throws -> Result {
        let directory = try TemporaryDirectory()
        let inputFile = try directory.write(Array(input.utf8), as: "input")
        let files = try ["output", "complaints"].map { try directory.write([], as: $0) }
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = Self.environment(home: directory, environment)
        process.standardInput = FileHandle(forReadingAtPath: inputFile)
        process.standardOutput = FileHandle(forWritingAtPath: files[0])
        process.standardError = FileHandle(forWritingAtPath: files[1])
        let code = try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { ended.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { ended.resume(throwing: error) }
        }
        return Result(
            code: code, output: try Data(contentsOf: URL(fileURLWithPath: files[0])),
            complaints: try String(contentsOfFile: files[1], encoding: .utf8))
    }
}
