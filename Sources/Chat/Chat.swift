import Client
import CommandLineParsing
import Foundation

/// A chat in a terminal, and the example of `Client`: a view model over two engines and a history, and a view of it.
@main
enum Chat {
    static func main() async {
        let terminal = Terminal()
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst(), options: options)
            if arguments.has("--help") { return print(help) }
            let session = try await Session(arguments, terminal)
            exit(await session.run() ? 0 : 1)
        } catch let error as UsageError {
            terminal.complain("\(error)\nchat --help lists the options")
            exit(2)
        } catch {
            terminal.complain("\(error)")
            exit(1)
        }
    }

    static let options =
        Engines.options + [
            Option("--policy", value: "NAME", help: "who is asked: localFirst, cloudFirst, localOnly or cloudOnly"),
            Option("--history", value: "FILE", help: "where conversations are kept (default: see docs/chat.md)"),
            Option("--no-history", help: "keeps nothing; without a terminal that is the default"),
            Option("-h", "--help", help: "print this"),
        ]

    static var help: String {
        """
        usage: chat --model FILE [--cloud URL] [--system TEXT] …

        Talks to a model here, to one in the cloud, or to one where the other cannot answer. Type a message; /help lists
        commands. Ctrl-C interrupts an answer, Ctrl-D ends. Without a terminal it answers each line of its input.

        \(options.help)
        """
    }
}
