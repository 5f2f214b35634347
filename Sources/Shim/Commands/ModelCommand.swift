import CommandLineParsing
import Foundation
import LocalLLM

/// What `shim` does with the folder of downloaded models.
enum ModelCommand: String {
    case pull, list, rm

    /// What `--help` prints.
    var usage: String {
        let text =
            switch self {
            case .pull:
                """
                usage: shim pull URL | hf:OWNER/REPOSITORY/FILE[@REVISION]

                Downloads a GGUF file, or all parts of a split one, and checks it. Broken off, the same command goes on.
                From Hugging Face the SHA-256 is compared with the one given there; HF_TOKEN is sent there if it is set.
                """
            case .list: "usage: shim list\n\nShows the models that were downloaded."
            case .rm: "usage: shim rm NAME\n\nRemoves a downloaded model, or what there is of one."
            }
        return "\(text)\n\n\(options.help)"
    }

    private var options: [Option] {
        let directory = Option(
            "--models-dir", value: "DIR",
            help: "the folder (default: localllm/models in $XDG_DATA_HOME or ~/.local/share)")
        let help = Option("-h", "--help", help: "print this")
        let digest = Option("--sha256", value: "HEX", help: "what the file must hash to")
        return self == .pull ? [directory, digest, help] : [directory, help]
    }

    func run(_ words: some Sequence<String>) async throws {
        let arguments = try Arguments(words, options: options, takesOperands: self != .list)
        if arguments.has("--help") { return Shim.say(usage) }
        let environment = ProcessInfo.processInfo.environment
        let directory =
            arguments.string("--models-dir").map { URL(fileURLWithPath: $0) }
            ?? ModelFolder.standard(environment)
        switch self {
        case .list: Shim.say(ModelListing(directory).text)
        case .rm:
            for name in try removeModel(try operand(arguments, "NAME"), in: directory) { Shim.say("removed \(name)") }
        case .pull:
            let text = try operand(arguments, "URL or hf:OWNER/REPOSITORY/FILE")
            let pull = try Pull(
                text, into: directory, sha256: arguments.string("--sha256"), token: environment["HF_TOKEN"])
            let isTerminal = isatty(STDERR_FILENO) == 1
            try await pull.run(
                say: Shim.say,
                show: isTerminal ? { _ = StandardStream.error.write("\r\u{1b}[K\($0)") } : nil)
        }
    }

    private func operand(_ arguments: Arguments, _ what: String) throws(UsageError) -> String {
        guard arguments.operands.count == 1 else {
            throw UsageError("shim \(self): expected one \(what), found \(arguments.operands.count)")
        }
        return arguments.operands[0]
    }
}
