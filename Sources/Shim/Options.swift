import CommandLineParsing
import Foundation
import HTTP
import LocalLLM

/// The server's command-line options.
struct Options: Sendable {
    private static let models = [
        Option(
            "-m", "--model", value: "FILE", repeats: true,
            help: "a GGUF file to serve, or a part of a downloaded model's name"),
        Option(
            "--models-dir", value: "DIR",
            help: "serve all GGUF files in a folder, including files added later"),
        Option(
            "--alias", value: "NAME", repeats: true,
            help:
                "model name for clients (default: from the file), '*' takes any name; with several models: NAME=MODEL"
        ),
        Option(
            "--idle-unload", value: "SECONDS", default: "when another needs its memory",
            help: "unload a model after this idle time"),
        Option(
            "--config", value: "FILE",
            help: "options, and models each with its own settings, as JSON (docs/options.md)"),
    ]

    private static let server = [
        Option("--host", value: "NAME", default: "127.0.0.1", help: "host name or address to listen on"),
        Option("--port", value: "N", default: "8080", help: "port to listen on; 0 picks a free one"),
        Option(
            "--request-timeout", value: "SECONDS", default: "3600", help: "maximum duration of an answer"),
        Option(
            "--state-file", value: "FILE",
            help: "file for stored responses, to keep them across restarts; FILE.conversations for conversations"),
        Option(
            "--slot-save-path", value: "DIR",
            help: "folder for the states that clients save and restore by POST /slots/{id} (default: they cannot)"),
    ]

    private static let requests = [
        Option(
            "--allow-image-urls",
            help: "fetch images that requests name by http(s) URLs, from public servers only (default: refuse them)"),
        Option(
            "--no-bare-calls",
            help:
                "answers that are nothing but JSON with a tool's name and arguments are text (default: tool calls)"
        ),
        Option(
            "--refuse-hosted-tools",
            help: "refuse responses requests with tools that OpenAI runs, such as web_search (default: leave those out)"
        ),
        .blockedWords,
    ]

    private static let program = [
        Option("--version", help: "print the version"),
        Option("-h", "--help", help: "print this"),
    ]

    static func groups(_ gateway: Gateway) -> [OptionGroup] {
        [
            OptionGroup("Which models", models),
            OptionGroup("How they are loaded", ModelOption.all.map(\.option)),
            OptionGroup("Server", server),
            OptionGroup("Who may use it", AccessOptions.all + gateway.options),
            OptionGroup("Requests", requests),
            OptionGroup("Another API for what is not here", UpstreamOptions.all),
            OptionGroup("Help", program),
        ]
    }

    /// All options, including those of the models, of the upstream, of access and of the gateway.
    static func all(_ gateway: Gateway) -> [Option] { groups(gateway).options }

    static func usage(_ gateway: Gateway, width: Int = helpWidth) -> String {
        """
        usage: shim [--model FILE…] [OPTION…]   serve models
               shim pull NAME | OWNER/REPOSITORY[:QUANTIZATION] | URL   download a model
               shim run NAME                    chat with a model in the terminal
               shim list | show NAME | rm NAME  downloaded models: list, describe, remove
               shim ps | stop NAME              a running server's models: list, unload
               shim cache [clear [MODEL]]       what was kept of prompts: show, remove
               shim config check FILE           what a configuration file would serve

        Serves language models through APIs like OpenAI's (/v1/chat/completions,
        /v1/responses, /v1/completions, /v1/embeddings, /v1/models; with --upstream
        also /v1/images/generations), Anthropic's (/v1/messages) and Ollama's
        (/api/chat). Further endpoints: /tokenize, /detokenize, /apply-template,
        /metrics, /props, /health, /ready\(gateway.summary.isEmpty ? "" : ";\n\(gateway.summary)").
        A chat page is at /.

        Without --model and --models-dir, the downloaded models are served. A single
        --model is loaded at startup, several on first use. --mmproj, --draft and
        --lora need exactly one --model; with --config each model has its own.
        """.filled(to: width) + "\n\n" + groups(gateway).help(width: width)
    }

    /// The command line, and behind it the configuration file.
    let arguments: Arguments
    /// The configuration file.
    let file: ConfigFile?
    var models: ModelCatalog
    /// Whether images that requests name by web addresses are fetched.
    var allowsImageURLs: Bool
    /// Seconds until an idle model is unloaded.
    var idleUnload: Int?
    var host: String
    var port: UInt16
    /// Whether calls are read that lack the model's markers.
    var readsBareCalls: Bool
    var requestTimeout: Duration
    /// File of the stored responses.
    var stateFile: String?
    var guardrail: (any Guardrail)?
    /// Whether requests with tools that OpenAI's API runs itself are refused.
    var refusesHostedTools: Bool
    var upstream: UpstreamOptions?
    var access: AccessOptions
    var gateway: Gateway.Configured

    init(
        _ arguments: Arguments, _ gateway: Gateway = .none,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(UsageError) {
        let file = try arguments.string("--config").map { path throws(UsageError) in try ConfigFile(path: path, gateway)
        }
        var arguments = arguments
        try file?.setDefaults(of: &arguments)
        (self.arguments, self.file) = (arguments, file)
        var defaults = ModelSettings(configuration: try arguments.configuration(ModelOption.all))
        defaults.configuration.reportsCacheProblem = { Shim.complain("warning: \($0)") }
        defaults.configuration.slotDirectory = arguments.string("--slot-save-path").map { URL(fileURLWithPath: $0) }
        models = try ModelCatalog(
            arguments, environment: environment, defaults: defaults, configured: file?.models(defaults) ?? [])
        for option in [ModelOption.imageEncoder, .draft, .adapters].map(\.option.names.last!)
        where arguments.has(option) {
            guard models.files.count == 1, models.directory == nil else {
                throw UsageError("\(option) needs exactly one --model; with --config each model has its own")
            }
        }
        allowsImageURLs = arguments.has("--allow-image-urls")
        guard !allowsImageURLs || models.seesImages else {
            throw UsageError(
                "--allow-image-urls: expected an image encoder (--mmproj) too; without an image encoder no image is read"
            )
        }
        idleUnload = try arguments.int("--idle-unload", in: 1...Int(Int32.max))
        host = arguments.string("--host") ?? "127.0.0.1"
        // Other machines' prompts are not written to disk unless asked for.
        models.keepsPromptsOfDownloaded = isLoopback(host)
        port = UInt16(try arguments.int("--port", in: 0...65535) ?? 8080)
        readsBareCalls = !arguments.has("--no-bare-calls")
        requestTimeout = .seconds(try arguments.int("--request-timeout", in: 1...1_000_000) ?? 3600)
        stateFile = arguments.string("--state-file")
        refusesHostedTools = arguments.has("--refuse-hosted-tools")
        guardrail = try arguments.guardrail()
        upstream = try UpstreamOptions(arguments, environment: environment)
        self.gateway = try gateway.configure(arguments, environment)
        access = try AccessOptions(arguments, host: host, hasAuthenticator: self.gateway.hasClients)
    }
}
