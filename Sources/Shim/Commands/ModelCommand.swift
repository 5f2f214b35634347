import CommandLineParsing
import Foundation
import LocalLLM

/// Subcommands of `shim` for downloaded models and for a running server.
enum ModelCommand: String, CaseIterable {
    case pull, list, show, rm, run, ps, stop, config, cache

    /// Text of `--help`.
    func usage(width: Int = helpWidth) -> String {
        let text =
            switch self {
            case .pull:
                """
                usage: shim pull NAME | OWNER/REPOSITORY[:QUANTIZATION] | OWNER/REPOSITORY/FILE[@REVISION] | URL

                Downloads a GGUF file, or all parts of a split one, and verifies it. If interrupted, run the same command again
                to resume. OWNER/REPOSITORY is at Hugging Face: alone, it lists the quantizations of a repository;
                ggml-org/Qwen3-0.6B-GGUF:Q8_0 downloads one of them. Of a repository without GGUF files it downloads the folder
                of safetensors. Files from Hugging Face are verified by the SHA-256 published there. HF_TOKEN, if set, is sent
                to Hugging Face only.

                NAME is one of these, or the part before its colon, which takes the largest of its models that fits in memory:

                \(KnownModel.listing)
                """
            case .list: "usage: shim list\n\nLists the downloaded models."
            case .show: "usage: shim show NAME|FILE\n\nShows a model's metadata and memory use."
            case .run:
                """
                usage: shim run NAME|FILE|OWNER/REPOSITORY:QUANTIZATION|URL [OPTION…]

                Chats with a model in the terminal; downloads it first if necessary. The options are those of chat; see
                chat --help.
                """
            case .ps: "usage: shim ps\n\nLists the models that a running server has loaded."
            case .stop: "usage: shim stop NAME\n\nUnloads a model from a running server."
            case .config:
                """
                usage: shim config check FILE

                Shows what a server with --config FILE would serve: each option and each setting of each model, and where it
                comes from. Reads the headers of the model files, and loads no weights. Exits with 1 if the server would not
                start.
                """
            case .cache:
                """
                usage: shim cache
                       shim cache clear [MODEL]

                Lists what was kept of prompts, so that they need not be computed again (--cache-dir), or removes it: of a model,
                or of all.
                """
            case .rm: "usage: shim rm NAME\n\nRemoves a downloaded model or an incomplete download."
            }
        return text.filled(to: width) + "\n\n" + [OptionGroup("Options", options)].help(width: width)
    }

    private var options: [Option] {
        let directory = Option(
            "--models-dir", value: "DIR",
            help: "model folder (default: localllm/models in $XDG_DATA_HOME or ~/.local/share)")
        let help = Option("-h", "--help", help: "print this")
        let digest = Option("--sha256", value: "HEX", help: "expected SHA-256 of the file")
        return switch self {
        case .pull: [directory, digest, help]
        case .ps, .stop: RunningServer.options + [help]
        case .list, .show, .rm, .run: [directory, help]
        case .config: [help]
        case .cache: CacheCommand.options + [help]
        }
    }

    func run(_ words: some Sequence<String>, _ gateway: Gateway) async throws {
        let environment = ProcessInfo.processInfo.environment
        let words = Array(words)
        if self == .run, !["-h", "--help"].contains(words.first) {
            // Options after the name are for `chat`.
            let directory = ModelFolder.standard(environment)
            return try await runChat(words, in: directory) {
                try await pull($0, into: directory, nil, environment)
            }
        }
        let arguments = try Arguments(words, options: options, takesOperands: ![.list, .ps].contains(self))
        if arguments.has("--help") { return Shim.say(usage()) }
        if self == .ps { return Shim.say(try await RunningServer(arguments, environment: environment).models()) }
        if self == .stop {
            let name = try operand(arguments, "NAME")
            try await RunningServer(arguments, environment: environment).unload(name)
            return Shim.say("unloaded \(name)")
        }
        if self == .cache { return Shim.say(try CacheCommand.run(arguments, environment: environment)) }
        if self == .config {
            guard arguments.operands.count == 2, arguments.operands[0] == "check" else {
                throw UsageError("expected: shim config check FILE")
            }
            return Shim.say(try checkConfiguration(arguments.operands[1], gateway, environment: environment))
        }
        let directory =
            arguments.string("--models-dir").map { URL(fileURLWithPath: $0) }
            ?? ModelFolder.standard(environment)
        switch self {
        case .run, .ps, .stop, .config, .cache: break  // above
        case .list: Shim.say(ModelListing(directory).text)
        case .show:
            let url = try DownloadedModels(in: directory).find(try operand(arguments, "NAME"))
            Shim.say(try describe(ModelFile(url)))
        case .rm:
            for name in try removeModel(try operand(arguments, "NAME"), in: directory) { Shim.say("removed \(name)") }
        case .pull:
            let text = try operand(arguments, "NAME, OWNER/REPOSITORY or URL")
            try await pull(text, into: directory, arguments.string("--sha256"), environment)
        }
    }

    @discardableResult
    private func pull(
        _ text: String, into directory: URL, _ sha256: String?, _ environment: [String: String]
    ) async throws -> URL? {
        try await pullModel(
            text, into: directory, sha256: sha256, token: environment["HF_TOKEN"],
            PullObserver(say: Shim.say, show: Self.showProgress))
    }

    /// Shows a progress line in place of the last one; `nil` if standard error is no terminal.
    private static var showProgress: ((String) -> Void)? {
        isatty(STDERR_FILENO) == 1 ? { _ = StandardStream.error.write("\r\u{1b}[K\($0)") } : nil
    }

    private func operand(_ arguments: Arguments, _ what: String) throws(UsageError) -> String {
        guard arguments.operands.count == 1 else {
            throw UsageError("shim \(self): expected one \(what), found \(arguments.operands.count)")
        }
        return arguments.operands[0]
    }
}
