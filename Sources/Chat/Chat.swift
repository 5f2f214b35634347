import CEdit
import Client
import CommandLineParsing
import Foundation

/// The program `chat`: a terminal chat, and the example of how to use `Client`.
@main
enum Chat {
    static func main() async {
        edit_use_utf8()
        let terminal = Terminal()
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst(), options: options, takesOperands: true)
            if arguments.has("--help") { return print(help) }
            let question = try question(arguments, terminal)
            let session = try await Session(arguments, terminal)
            let hasSucceeded = if let question { await session.answer(question) } else { await session.run() }
            exit(hasSucceeded ? 0 : 1)
        } catch let error as UsageError {
            terminal.complain("\(error)\nSee: chat --help")
            exit(2)
        } catch {
            terminal.complain("\(error)")
            exit(1)
        }
    }

    /// The message on the command line, followed by piped input if there is any.
    ///
    /// - Returns: `nil` if the command line has no message; messages are then read from standard input.
    private static func question(_ arguments: Arguments, _ terminal: Terminal) throws -> String? {
        guard !arguments.operands.isEmpty else { return nil }
        let message = arguments.operands.joined(separator: " ")
        guard !terminal.isInput else { return message }
        let data = FileHandle.standardInput.readData(ofLength: mostInputBytes + 1)
        guard data.count <= mostInputBytes else { throw UsageError("the input has over \(mostInputBytes) bytes") }
        guard let text = String(data: data, encoding: .utf8) else { throw UsageError("the input is not UTF-8") }
        return text.isEmpty ? message : message + "\n\n" + text
    }

    /// Larger than any context.
    private static let mostInputBytes = 16 << 20

    static let groups =
        Engines.groups + [
            OptionGroup(
                "Conversation",
                [
                    Option("--system", value: "TEXT", help: "the system prompt"),
                    Option(
                        "--image", value: "FILE", repeats: true,
                        help: "an image (PNG, JPEG, WebP, GIF) for the first message"
                    ),
                    Option("--hide-thinking", help: "hides the model's reasoning"),
                    .blockedWords,
                    Option(
                        "--history", value: "FILE", help: "where conversations are stored (default: see docs/chat.md)"),
                    Option("--no-history", help: "stores nothing; the default without a terminal"),
                    Option("-h", "--help", help: "print this"),
                ])
        ]

    static let options = groups.options

    static var help: String {
        """
        usage: chat [--model NAME] [OPTION…]        a conversation
               chat … "summarize" [< FILE]          one answer about the input

        Chats with a local model, with a model in the cloud, or with one as the
        fallback of the other. Type a message; /help lists the commands. For a message
        of several lines, paste it or put it between two \"\"\". Ctrl-R searches earlier
        input, Ctrl-C interrupts an answer, Ctrl-D ends. Without a terminal, each line
        of the input is a message.

        \(groups.help)
        """
    }
}
