import CommandLineParsing
import Foundation
import LocalLLM

/// The server's command-line options.
struct Options: Sendable {
    private static let own = [
        Option("-m", "--model", value: "FILE", help: "a GGUF file to serve; may be given several times"),
        Option(
            "--mmproj", value: "FILE", help: "the image encoder of the only --model: it then looks at pictures"),
        Option(
            "--allow-image-urls",
            help: "get pictures that requests name by http(s) addresses, from public servers (default: refuse them)"),
        Option(
            "--models-dir", value: "DIR",
            help: "serve the GGUF files in a folder, also those that come later (see pull)"),
        Option(
            "--alias", value: "NAME", help: "the model's name for clients (default: the file's); of several: NAME=MODEL"
        ),
        Option(
            "--idle-unload", value: "SECONDS",
            help: "unload a model that nobody used for so long (default: when another needs its memory)"),
        Option("--host", value: "NAME", help: "name or address to listen on (default 127.0.0.1)"),
        Option("--port", value: "N", help: "port to listen on; 0 chooses one (default 8080)"),
        Option("--context", value: "N", help: "most tokens of a request (default: what the model was trained for)"),
        Option("--threads", value: "N", help: "threads to compute on (default: the physical cores)"),
        Option("--tier", value: "NAME", help: "kernels: \(KernelTier.names) (default: the fastest that runs here)"),
        Option(
            "--cache-type", value: "NAME",
            help: "keys and values in memory: \(KVCacheFormat.names); q8_0 takes half and rounds them (default: f16)"),
        Option(
            "--quantize", value: "TYPE",
            help: "quantize the weights while they are loaded, for folders of safetensors: Q4_K_M, Q8_0, …"),
        Option(
            "--lora", value: "FILE[:SCALE]",
            help:
                "a LoRA adapter (GGUF, or a folder of PEFT) of the --model and its scale (default: 1); may be given several times"
        ),
        Option(
            "--request-timeout", value: "SECONDS", help: "most that an answer may take, all of it (default 3600)"),
        Option(
            "--state-file", value: "FILE", help: "keep stored responses here, so that they survive a restart"),
        Option(
            "--blocked-words", value: "FILE",
            help: "refuse prompts and answers with one of these words or phrases, one a line"),
        Option("--version", help: "print the version"),
        Option("-h", "--help", help: "print this"),
    ]

    /// All options, including those of the upstream and of access.
    static let all = own + UpstreamOptions.all + AccessOptions.all

    static var usage: String {
        """
        usage: shim --model FILE… | --models-dir DIR [OPTION…]
               shim pull URL | hf:OWNER/REPOSITORY/FILE[@REVISION]     download a model
               shim pull hf:OWNER/REPOSITORY[:QUANTIZATION]            list what a repository has, or download one of it
               shim run NAME                                           talk with a model in the terminal
               shim list | show NAME                                   the models that were downloaded
               shim ps | stop NAME                                     what a running server has in memory
               shim rm NAME                                            remove one of them

        Serves language models over HTTP, as OpenAI's API does: /v1/chat/completions, /v1/completions, /v1/responses,
        /v1/embeddings, /v1/models; with --upstream also /v1/images/generations; /tokenize, /detokenize, /apply-template,
        /metrics, /props, /health, /ready; /chatgpt, /chatgpt-simple, /api/suggest, and with --upstream /dalle and /vision,
        for apps; and a page to chat on at /. Without a model it serves those that were downloaded. One --model is loaded
        at the start, several when they are first asked for.

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
    var adapters: [LocalModel.AdapterFile]
    var requestTimeout: Duration
    /// File of the stored responses.
    var stateFile: String?
    var guardrail: (any Guardrail)?
    var upstream: UpstreamOptions?
    var access: AccessOptions

    init(
        _ arguments: Arguments, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(UsageError) {
        models = try ModelCatalog(arguments, environment: environment)
        imageEncoder = arguments.string("--mmproj").map { URL(fileURLWithPath: $0) }
        guard imageEncoder == nil || models.files.count == 1 && models.directory == nil else {
            throw UsageError("--mmproj: expected exactly one --model, to which the image encoder belongs")
        }
        allowsImageURLs = arguments.has("--allow-image-urls")
        guard !allowsImageURLs || imageEncoder != nil else {
            throw UsageError("--allow-image-urls: expected --mmproj too, without which no picture is looked at")
        }
        idleUnload = try arguments.int("--idle-unload", in: 1...Int(Int32.max))
        host = arguments.string("--host") ?? "127.0.0.1"
        port = UInt16(try arguments.int("--port", in: 0...65535) ?? 8080)
        context = try arguments.int("--context", in: 1...Int(Int32.max))
        threads = try arguments.int("--threads", in: 1...1024)
        tier = try arguments.choice("--tier")
        cacheFormat = try arguments.choice("--cache-type") ?? .f16
        quantization = arguments.string("--quantize")
        adapters = arguments.strings("--lora").map { .init(argument: $0) }
        guard adapters.isEmpty || (models.files.count == 1 && models.directory == nil) else {
            throw UsageError("--lora: give one --model, of which the adapters are")
        }
        requestTimeout = .seconds(try arguments.int("--request-timeout", in: 1...1_000_000) ?? 3600)
        stateFile = arguments.string("--state-file")
        if let file = arguments.string("--blocked-words") {
            do {
                guardrail = try WordListGuardrail(
                    contentsOf: URL(fileURLWithPath: file),
                    message: "This touches on something that this server does not talk about.")
            } catch {
                throw UsageError("--blocked-words \(file): \(error.localizedDescription)")
            }
        }
        upstream = try UpstreamOptions(arguments, environment: environment)
        access = try AccessOptions(arguments, host: host)
    }
}
