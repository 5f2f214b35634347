import CommandLineParsing
import Foundation
import LocalLLM

/// The server's command-line options.
struct Options: Sendable {
    private static let own = [
        Option("-m", "--model", value: "FILE", help: "a GGUF file to serve; repeatable"),
        Option(
            "--mmproj", value: "FILE", help: "image encoder of the model; needs exactly one --model"),
        Option(
            "--allow-image-urls",
            help: "fetch images that requests name by http(s) URLs, from public servers only (default: refuse them)"),
        Option(
            "--models-dir", value: "DIR",
            help: "serve all GGUF files in a folder, including files added later"),
        Option(
            "--alias", value: "NAME",
            help:
                "model name for clients (default: from the file), '*' takes any name; with several models: NAME=MODEL; repeatable"
        ),
        Option(
            "--idle-unload", value: "SECONDS",
            help: "unload a model after this idle time (default: when another needs its memory)"),
        Option("--host", value: "NAME", help: "host name or address to listen on (default 127.0.0.1)"),
        Option("--port", value: "N", help: "port to listen on; 0 picks a free one (default 8080)"),
        Option("--context", value: "N", help: "context length in tokens (default: the model's training context)"),
        Option("--threads", value: "N", help: "compute threads (default: one per physical core)"),
        Option("--tier", value: "NAME", help: "kernels: \(KernelTier.names) (default: the fastest that runs here)"),
        Option(
            "--cache-type", value: "NAME",
            help:
                "KV cache format: \(KVCacheFormat.names); q8_0 takes half of the memory, q4 a quarter; both are less exact (default: f16)"
        ),
        Option(
            "--quantize", value: "TYPE",
            help: "quantize the weights while loading a safetensors folder: Q4_K_M, Q8_0, …"),
        Option(
            "--experts-on-disk",
            help:
                "for a mixture of experts larger than the memory: read experts from the file when they are used, and keep as many as there is room for"
        ),
        Option(
            "--draft", value: "FILE",
            help: "a smaller model with the same vocabulary that drafts tokens, for speed; needs exactly one --model"),
        Option(
            "--lora", value: "FILE[:SCALE]",
            help:
                "LoRA adapter (GGUF file or PEFT folder) and its scale (default: 1); needs exactly one --model; repeatable"
        ),
        Option(
            "--no-bare-calls",
            help:
                "answers that are nothing but JSON with a tool's name and arguments are text (default: tool calls)"
        ),
        Option(
            "--request-timeout", value: "SECONDS", help: "maximum duration of an answer (default 3600)"),
        Option(
            "--state-file", value: "FILE", help: "file for stored responses, to keep them across restarts"),
        Option(
            "--refuse-hosted-tools",
            help: "refuse responses requests with tools that OpenAI runs, such as web_search (default: leave those out)"
        ),
        Option(
            "--blocked-words", value: "FILE",
            help: "block prompts and answers that contain a word or phrase of this file, one per line"),
        Option("--version", help: "print the version"),
        Option("-h", "--help", help: "print this"),
    ]

    /// All options, including those of the upstream, of access and of the app protocols.
    static let all = own + UpstreamOptions.all + AccessOptions.all + AppOptions.all

    static var usage: String {
        """
        usage: shim --model FILE… | --models-dir DIR [OPTION…]
               shim pull URL | hf:OWNER/REPOSITORY/FILE[@REVISION]     download a model
               shim pull hf:OWNER/REPOSITORY[:QUANTIZATION]            list a repository's models, or download one
               shim run NAME                                           chat with a model in the terminal
               shim list | show NAME                                   show the downloaded models, or one of them
               shim ps | stop NAME                                     show a running server's loaded models, or unload one
               shim rm NAME                                            remove a downloaded model

        Serves language models through an OpenAI-compatible HTTP API: /v1/chat/completions, /v1/completions,
        /v1/responses, /v1/embeddings, /v1/models; with --upstream also /v1/images/generations. Further endpoints:
        /tokenize, /detokenize, /apply-template, /metrics, /props, /health, /ready; for apps /chatgpt, /chatgpt-simple,
        /api/suggest, and with --upstream /dalle and /vision. A chat page is at /. Without --model and --models-dir,
        the downloaded models are served. A single --model is loaded at startup, several on first use.

        \(all.help)
        """
    }

    var models: ModelCatalog
    /// Image encoder of the server's only model.
    var imageEncoder: URL?
    /// Whether images that requests name by web addresses are fetched.
    var allowsImageURLs: Bool
    /// Seconds until an idle model is unloaded.
    var idleUnload: Int?
    var host: String
    var port: UInt16
    var context: Int?
    var threads: Int?
    var tier: KernelTier?
    var cacheFormat: KVCacheFormat
    /// Format to which weights are quantized while loading.
    var quantization: String?
    var expertsOnDisk: Bool
    /// Draft model of the server's only model.
    var draftModel: URL?
    var adapters: [LocalModel.AdapterFile]
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
    var apps: AppOptions

    init(
        _ arguments: Arguments, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(UsageError) {
        models = try ModelCatalog(arguments, environment: environment)
        imageEncoder = arguments.string("--mmproj").map { URL(fileURLWithPath: $0) }
        guard imageEncoder == nil || models.files.count == 1 && models.directory == nil else {
            throw UsageError("--mmproj needs exactly one --model")
        }
        allowsImageURLs = arguments.has("--allow-image-urls")
        guard !allowsImageURLs || imageEncoder != nil else {
            throw UsageError("--allow-image-urls: expected --mmproj too; without an image encoder no image is read")
        }
        idleUnload = try arguments.int("--idle-unload", in: 1...Int(Int32.max))
        host = arguments.string("--host") ?? "127.0.0.1"
        port = UInt16(try arguments.int("--port", in: 0...65535) ?? 8080)
        context = try arguments.int("--context", in: 1...Int(Int32.max))
        threads = try arguments.int("--threads", in: 1...1024)
        tier = try arguments.choice("--tier")
        cacheFormat = try arguments.choice("--cache-type") ?? .f16
        quantization = arguments.string("--quantize")
        expertsOnDisk = arguments.has("--experts-on-disk")
        readsBareCalls = !arguments.has("--no-bare-calls")
        draftModel = arguments.string("--draft").map { URL(fileURLWithPath: $0) }
        guard draftModel == nil || (models.files.count == 1 && models.directory == nil) else {
            throw UsageError("--draft needs exactly one --model")
        }
        adapters = arguments.strings("--lora").map { .init(argument: $0) }
        guard adapters.isEmpty || (models.files.count == 1 && models.directory == nil) else {
            throw UsageError("--lora needs exactly one --model")
        }
        models.adapters = adapters
        requestTimeout = .seconds(try arguments.int("--request-timeout", in: 1...1_000_000) ?? 3600)
        stateFile = arguments.string("--state-file")
        refusesHostedTools = arguments.has("--refuse-hosted-tools")
        if let file = arguments.string("--blocked-words") {
            do {
                guardrail = try WordListGuardrail(
                    contentsOf: URL(fileURLWithPath: file),
                    message: "Blocked by the content filter.")
            } catch {
                throw UsageError("--blocked-words \(file): \(error.localizedDescription)")
            }
        }
        upstream = try UpstreamOptions(arguments, environment: environment)
        apps = try AppOptions(arguments, environment: environment)
        access = try AccessOptions(arguments, host: host, hasAuthenticator: apps.configuration != nil)
    }
}
