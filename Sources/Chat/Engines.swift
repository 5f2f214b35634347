import Client
import CommandLineParsing
import Foundation
import LocalLLM

/// The engines that the command line names: the model here, one in the cloud, or both.
struct Engines {
    let local: any LocalLLMServiceProtocol
    private let cloud: (any ChatServiceProtocol)?
    private let hasLocal: Bool

    var engine: DualEngine { DualEngine(local: hasLocal ? local : nil, cloud: cloud) }

    func has(_ engine: EngineKind) -> Bool { engine == .local ? hasLocal : cloud != nil }

    static let options =
        [
            Option("-m", "--model", value: "FILE", help: "the GGUF file of the model here"),
            Option(
                "--cloud", value: "URL",
                help: "a server of OpenAI's API; its key is in LOCALLLM_CLOUD_KEY or OPENAI_API_KEY"),
            Option("--cloud-model", value: "NAME", help: "which of that server's models is asked"),
            Option("--backend", value: "URL", help: "a server of the chat app; the app's key is in LOCALLLM_APP_KEY"),
            Option(
                "--key-file", value: "FILE", help: "where the key of --cloud or --backend is, in place of a variable"),
            Option("--system", value: "TEXT", help: "what the model is told before the conversation"),
        ] + localOptions

    /// They say nothing to a cloud.
    private static let localOptions = [
        Option("--temperature", value: "T", help: "0 always takes the likeliest token (default: the model's)"),
        Option("--seed", value: "N", help: "same seed, same answers, of the likeliest 95 % (default: random)"),
        Option("-n", "--max-tokens", value: "N", help: "most tokens of an answer (default: what the context leaves)"),
        Option("-c", "--context", value: "N", help: "context size (default: what the model was trained for)"),
        Option("-t", "--threads", value: "N", help: "threads (default: one a physical core)"),
    ]

    /// - Parameter log: Gets what goes wrong with a server.
    init(_ arguments: Arguments, log: @escaping @Sendable (String) -> Void) throws {
        cloud = try Self.cloud(arguments, log)
        hasLocal = arguments.has("--model")
        guard hasLocal else {
            if cloud == nil { throw UsageError("--model, --cloud or --backend is missing") }
            for option in Self.localOptions where arguments.has(option.names[0]) {
                throw UsageError("\(option.names[0]) is for the model here, and --model is missing")
            }
            local = FallbackLLMService(reason: "There is no model here: --model names one.")
            return
        }
        local = LocalLLMService(
            model: SystemLanguageModel(
                contentsOf: URL(fileURLWithPath: try arguments.required("--model")),
                configuration: LocalModel.Configuration(
                    contextSize: try arguments.int("--context", in: 1...1 << 30),
                    threads: try arguments.int("--threads", in: 1...1024))),
            instructions: arguments.string("--system"),
            options: GenerationOptions(
                sampling: try arguments.int("--seed").map { .random(probabilityThreshold: 0.95, seed: UInt64($0)) },
                temperature: try arguments.double("--temperature"),
                maximumResponseTokens: try arguments.int("--max-tokens", in: 1...Int.max)))
        if cloud == nil, case .unavailable = local.availability { throw NoEngine(description: local.statusMessage) }
    }

    private static func cloud(
        _ arguments: Arguments, _ log: @escaping @Sendable (String) -> Void
    ) throws -> (any ChatServiceProtocol)? {
        if arguments.has("--backend") {
            for other in ["--cloud", "--cloud-model", "--system"] where arguments.has(other) {
                throw UsageError("--backend and \(other) exclude each other")
            }
            let key = try key(arguments, ["LOCALLLM_APP_KEY"])
            return ChatService(
                APIClient(baseURL: try url("--backend", arguments), authKey: key, store: MemorySecretStore(), log: log))
        }
        guard arguments.has("--cloud") else { return nil }
        let service = OpenAIChatService(
            baseURL: try url("--cloud", arguments),
            key: try key(arguments, ["LOCALLLM_CLOUD_KEY", "OPENAI_API_KEY"]),
            model: try arguments.required("--cloud-model"), log: log)
        return Instructed(service: service, instructions: arguments.string("--system"))
    }

    /// With or without the `/v1` that addresses of this API are often written with.
    private static func url(_ option: String, _ arguments: Arguments) throws -> URL {
        let text = try arguments.required(option)
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host() != nil else {
            throw UsageError("\(option): expected an address with http or https, found '\(text)'")
        }
        return url.lastPathComponent == "v1" ? url.deletingLastPathComponent() : url
    }

    private static func key(_ arguments: Arguments, _ variables: [String]) throws -> String {
        let place: String
        let found: String?
        if let file = arguments.string("--key-file") {
            place = file
            found = try String(contentsOfFile: file, encoding: .utf8)
        } else {
            place = variables.joined(separator: " or ")
            found = variables.lazy.compactMap { ProcessInfo.processInfo.environment[$0] }.first
        }
        guard let key = found?.trimmingCharacters(in: .whitespacesAndNewlines), !key.isEmpty else {
            throw UsageError(
                "the server's key is missing: expected it in \(place); a server without keys takes any text")
        }
        return key
    }
}

/// There is nobody to talk to.
private struct NoEngine: Error, CustomStringConvertible {
    let description: String
}

/// A service that is told something before each conversation.
private struct Instructed: ChatServiceProtocol {
    let service: any ChatServiceProtocol
    let instructions: String?

    func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        service.stream((instructions.map { [.system($0)] } ?? []) + messages)
    }

    func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> { stream([.user(prompt)]) }
}
