import CommandLineParsing
import Foundation
import LocalLLM

/// A command for scripts, the first word of the command line: it writes what was asked for to standard output, everything
/// else to standard error, and asks nothing.
struct ScriptCommand: Sendable {
    let name: String
    /// One line.
    let summary: String
    /// Arguments, for the usage line.
    let synopsis: String
    /// What it reads and writes, for the help.
    let details: String
    /// Its options besides those of the engines.
    let ownOptions: [Option]
    /// - Returns: Whether it succeeded.
    let body: @MainActor @Sendable (_ arguments: Arguments, _ terminal: Terminal) async throws -> Bool

    static let all = [respond, available, tokenCount]

    var groups: [OptionGroup] {
        [OptionGroup("Request", ownOptions + [Option("-h", "--help", help: "print this")])] + Engines.groups
    }

    func help(width: Int = helpWidth) -> String {
        """
        usage: chat \(name) \(synopsis)

        \(details)
        """.filled(to: width) + "\n\n" + groups.help(width: width)
    }

    /// - Returns: The exit code: 0 success, 1 failure, 2 usage error.
    @MainActor func run(_ words: ArraySlice<String>, _ terminal: Terminal) async -> Int32 {
        terminal.interrupts.onInterrupt { exit(130) }
        do {
            let arguments = try Arguments(words, options: groups.options, takesOperands: true)
            if arguments.has("--help") {
                print(help())
                return 0
            }
            return try await body(arguments, terminal) ? 0 : 1
        } catch let error as UsageError {
            terminal.complain("\(name): \(error)\nSee: chat \(name) --help")
            return 2
        } catch {
            terminal.complain("\(name): \(Self.text(error))")
            return 1
        }
    }

    static func text(_ error: any Error) -> String {
        guard let error = error as? any LocalizedError, let description = error.errorDescription else {
            return "\(error)"
        }
        return description
    }

    /// The text of the command line, followed by that of standard input if it is piped, whose last newline does not count.
    static func text(_ arguments: Arguments, _ terminal: Terminal) throws(UsageError) -> String {
        var piped = try terminal.pipedText()
        if piped.utf8.last == UInt8(ascii: "\n") { piped = String(decoding: piped.utf8.dropLast(), as: UTF8.self) }
        let texts = [arguments.operands.joined(separator: " "), piped].filter { !$0.isEmpty }
        guard !texts.isEmpty else {
            throw UsageError("expected a text as an argument or on standard input, found none")
        }
        return texts.joined(separator: "\n\n")
    }

    /// The message that a command line describes, with its images.
    static func message(
        _ arguments: Arguments, _ terminal: Terminal, for engines: Engines
    ) throws -> ChatMessage {
        let text = try text(arguments, terminal)
        let images = try arguments.strings("--image").map { try engines.image(at: $0) }
        return images.isEmpty ? .user(text) : .user(text, images: images)
    }
}

extension Option {
    static let promptImage = Option(
        "--image", value: "FILE", repeats: true, help: "an image (PNG, JPEG, WebP, GIF) before the text")
}
