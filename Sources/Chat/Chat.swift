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
        let words = CommandLine.arguments.dropFirst()
        if let command = ScriptCommand.all.first(where: { $0.name == words.first }) {
            exit(await command.run(words.dropFirst(), terminal))
        }
        do {
            let arguments = try Arguments(words, options: options, takesOperands: true)
            if arguments.has("--help") { return print(help()) }
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
        let text = try terminal.pipedText()
        return text.isEmpty ? message : message + "\n\n" + text
    }

    static let groups =
        Engines.groups + [
            OptionGroup(
                "Conversation",
                [
                    .instructions,
                    Option(
                        "--image", value: "FILE", repeats: true,
                        help: "an image (PNG, JPEG, WebP, GIF) for the first message"
                    ),
                    Option(
                        "--tools", value: "FILE",
                        help: "commands that the local model may call after you confirm each (docs/chat.md)"),
                    Option("--hide-thinking", help: "hides the model's reasoning"),
                    .blockedWords,
                    Option(
                        "--history", value: "FILE", help: "where conversations are stored (default: see docs/chat.md)"),
                    Option("--no-history", help: "stores nothing; the default without a terminal"),
                    Option("-h", "--help", help: "print this"),
                ])
        ]

    static let options = groups.options

    static func help(width: Int = helpWidth) -> String {
        """
        usage: chat [--model NAME] [OPTION…]   a conversation
               chat … "summarize" [< FILE]     one answer about the input
               chat COMMAND [OPTION…] [TEXT]   for scripts: \(ScriptCommand.all.map(\.name).joined(separator: ", "))

        Chats with a local model, with a model in the cloud, or with one as the
        fallback of the other. Type a message; /help lists the commands. For a message
        of several lines, paste it or put it between two \"\"\". Ctrl-R searches earlier
        input, Ctrl-C interrupts an answer, Ctrl-D ends. Without a terminal, each line
        of the input is a message. chat COMMAND --help lists the options of a command.
        """.filled(to: width) + "\n\n" + groups.help(width: width)
    }
}

extension Option {
    /// The system prompt. Apple's `fm` calls it instructions.
    static let instructions = Option("-i", "--instructions", "--system", value: "TEXT", help: "the system prompt")
}
