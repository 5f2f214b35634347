import Foundation
import TestSupport

/// The program as scripts call it: arguments and input in; output, complaints and exit code out.
struct BenchProgram {
    struct Result {
        let code: Int32
        let output: Data
        let complaints: String

        var text: String { String(decoding: output, as: UTF8.self) }
        var lines: [String] { text.split(separator: "\n").map(String.init) }
    }

    /// Beside the test runner, where the build puts both.
    private static let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "bench")

    static func run(_ arguments: String..., input: String = "", environment: [String: String] = [:]) throws -> Result {
        try run(arguments, input: input, environment: environment)
    }

    static func run(_ arguments: [String], input: String = "", environment: [String: String] = [:]) throws -> Result {
        let directory = try TemporaryDirectory()
        let inputFile = try directory.write(Array(input.utf8), as: "input")
        let files = try ["output", "complaints"].map { try directory.write([], as: $0) }
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle(forReadingAtPath: inputFile)
        process.standardOutput = FileHandle(forWritingAtPath: files[0])
        process.standardError = FileHandle(forWritingAtPath: files[1])
        try process.run()
        process.waitUntilExit()
        return Result(
            code: process.terminationStatus, output: try Data(contentsOf: URL(fileURLWithPath: files[0])),
            complaints: try String(contentsOfFile: files[1], encoding: .utf8))
    }
}
