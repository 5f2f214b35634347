import CommandLineParsing
import Foundation
import LocalLLM

/// A conversation in a terminal, and the library's example: load a model, keep the messages, stream the answers.
@main
enum Chat {
    static func main() async {
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst(), options: options)
            if arguments.has("--help") { return print(help) }
            var session = try await Session(arguments)
            exit(await session.run() ? 0 : 1)
        } catch let error as UsageError {
            complain("\(error)\nchat --help lists the options")
            exit(2)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    static let options = [
        Option("-m", "--model", value: "FILE", help: "the GGUF file"),
        Option("--system", value: "TEXT", help: "what the model is told before the conversation"),
        Option("--temperature", value: "T", help: "0 always takes the likeliest token (default: the model's)"),
        Option("--seed", value: "N", help: "same seed, same answers (default: random)"),
        Option("-n", "--max-tokens", value: "N", help: "most tokens of an answer (default: what the context leaves)"),
        Option("-c", "--context", value: "N", help: "context size (default: what the model was trained for)"),
        Option("-t", "--threads", value: "N", help: "threads (default: one a physical core)"),
        Option("-h", "--help", help: "print this"),
    ]

    static var help: String {
        """
        usage: chat --model FILE [--system TEXT] [--temperature T] …

        Talks to a model. Type a message; /help lists commands. Ctrl-C interrupts an answer, Ctrl-D ends. Without a
        terminal it answers each line of its input.

        \(options.help)
        """
    }

    static func complain(_ message: String) { FileHandle.standardError.write(Data("chat: \(message)\n".utf8)) }
}
