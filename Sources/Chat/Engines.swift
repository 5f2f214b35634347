import Client
import CommandLineParsing
import Foundation
import LocalLLM

/// The engines chosen on the command line: a local model, a cloud model, or both.
struct Engines {
    /// Settings that `/set` can change.
    struct Settings: Equatable {
        /// The system message.
        var system: String?
        var temperature: Double?
        var seed: Int?
        var maximumTokens: Int?

        /// The settings as options of the local model.
        var options: GenerationOptions {
            GenerationOptions(
                sampling: seed.map { .random(probabilityThreshold: 0.95, seed: UInt64($0)) },
                temperature: temperature, maximumResponseTokens: maximumTokens)
        }
    }

    var settings: Settings
    /// File of the local model.
    private(set) var file: URL?
    private var model: SystemLanguageModel?
    private let configuration: LocalModel.Configuration
    private let cloud: (any ChatServiceProtocol)?
    private let hasBackend: Bool
    /// Tools that the local model may call.
    private let tools: [ToolFile.Definition]
    /// Reviews prompts and answers of all engines.
    private let guardrail: WordListGuardrail?

    /// Makes the local service with the current settings.
    ///
    /// - Parameter supervisor: Runs its tool calls.
    func makeLocal(_ supervisor: CallSupervisor) -> any LocalLLMServiceProtocol {
        guard let model else { return FallbackLLMService(reason: "There is no local model. Give one with --model.") }
        return LocalLLMService(
            model: model, instructions: settings.system, options: settings.options,
            tools: tools.map { CommandTool(definition: $0, supervisor: supervisor) })
    }

    /// - Parameter local: Result of `makeLocal`.
    func makeEngine(_ local: any LocalLLMServiceProtocol) -> DualEngine {
        DualEngine(
            local: model == nil ? nil : local,
            cloud: cloud.map { hasBackend ? $0 : Instructed(service: $0, instructions: settings.system) })
    }

    /// Whether one of the engines may be able to look at images; nobody knows it of a cloud before it is asked.
    var seesImages: Bool { configuration.imageEncoder != nil || cloud != nil && !hasBackend }

    func has(_ engine: EngineKind) -> Bool { engine == .local ? model != nil : cloud != nil }

    static let options =
        [
            Option(
                "-m", "--model", value: "FILE",
                help: "the local model: a GGUF file, or the name of a pulled one (default: LOCALLLM_MODEL)"),
            Option(
                "--cloud", value: "URL",
                help:
                    "an OpenAI-compatible server; its key, if needed, is read from LOCALLLM_CLOUD_KEY or OPENAI_API_KEY"
            ),
            Option("--cloud-model", value: "NAME", help: "the model to ask on that server"),
            Option(
                "--backend", value: "URL", help: "a chat app's backend; the app's key is read from LOCALLLM_APP_KEY"),
            Option(
                "--key-file", value: "FILE",
                help: "reads the key of --cloud or --backend from a file instead of a variable"),
            Option("--system", value: "TEXT", help: "the system prompt"),
            .blockedWords,
        ] + localOptions

    /// Options that apply only to a local model.
    private static let localOptions =
        [
            SamplingOption.temperature.option,
            Option("--seed", value: "N", help: "makes sampling reproducible, at top-p 0.95 (default: random)"),
            Option(
                "-n", "--max-tokens", value: "N", help: "maximum tokens of an answer (default: what the context leaves)"
            ),
            Option(
                "--tools", value: "FILE", help: "commands that the model may call after you confirm each (docs/chat.md)"
            ),
        ] + ModelOption.all.map(\.option)

    /// - Parameter log: Called with errors of the cloud server.
    init(
        _ arguments: Arguments, environment: [String: String] = ProcessInfo.processInfo.environment,
        log: @escaping @Sendable (String) -> Void
    ) throws {
        guardrail = try arguments.guardrail()
        let service = try Self.cloud(arguments, environment, log)
        if let service, let guardrail { cloud = GuardedChatService(service, guardrail) } else { cloud = service }
        hasBackend = arguments.has("--backend")
        tools = try arguments.string("--tools").map { try ToolFile(reading: $0).definitions } ?? []
        settings = Settings(
            system: arguments.string("--system"), temperature: try arguments.double("--temperature", in: 0...2),
            seed: try arguments.int("--seed"), maximumTokens: try arguments.int("--max-tokens", in: 1...Int.max))
        configuration = try arguments.configuration(ModelOption.all)
        try configuration.validate()
        let named = environment["LOCALLLM_MODEL"].flatMap { $0.isEmpty ? nil : $0 }
        guard let name = arguments.string("--model") ?? (cloud == nil ? named : nil) else {
            if cloud == nil { throw UsageError("--model, --cloud or --backend is missing") }
            for option in Self.localOptions where arguments.has(option.names[0]) {
                throw UsageError("\(option.names[0]) needs --model: it applies to the local model")
            }
            return
        }
        let status = use(name, environment: environment)
        if cloud == nil, case .unavailable = status.availability {
            throw NoEngine(description: status.statusMessage)
        }
    }

    /// Warnings about the local model's options, as text for the user.
    var warnings: [String] {
        // The file is read only for options that could cause a warning.
        guard let file, configuration.contextSize != nil || configuration.threads != nil,
            let info = try? LocalModel.info(of: file)
        else { return [] }
        return configuration.warnings(trainedContext: info.trainedContextSize)
    }

    /// Changes the local model.
    ///
    /// - Parameter name: A file, or the name of a pulled model.
    /// - Returns: Its status: a model that is unavailable is named all the same.
    @discardableResult
    mutating func use(
        _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> SystemLanguageModel.Status {
        let pulled =
            FileManager.default.fileExists(atPath: name)
            ? nil : ModelFolder.model(named: name, in: ModelFolder.standard(environment))
        let file = pulled ?? URL(fileURLWithPath: name)
        var configuration = configuration
        configuration.keepPrompts(ofDownloaded: file, environment: environment)
        let model = SystemLanguageModel(
            contentsOf: file, configuration: configuration, guardrails: .init(guardrail.map { [$0] } ?? []))
        (self.file, self.model) = (file, model)
        return model.status
    }

    private static func cloud(
        _ arguments: Arguments, _ environment: [String: String], _ log: @escaping @Sendable (String) -> Void
    ) throws -> (any ChatServiceProtocol)? {
        if arguments.has("--backend") {
            for other in ["--cloud", "--cloud-model", "--system"] where arguments.has(other) {
                throw UsageError("--backend and \(other) exclude each other")
            }
            guard let key = try key(arguments, environment, ["LOCALLLM_APP_KEY"]) else {
                throw UsageError("the app's key is missing: expected it in LOCALLLM_APP_KEY, or a file by --key-file")
            }
            return ChatService(
                APIClient(baseURL: try url("--backend", arguments), authKey: key, store: MemorySecretStore(), log: log))
        }
        guard arguments.has("--cloud") else { return nil }
        return OpenAIChatService(
            baseURL: try url("--cloud", arguments),
            key: try key(arguments, environment, ["LOCALLLM_CLOUD_KEY", "OPENAI_API_KEY"]),
            model: try arguments.required("--cloud-model"), log: log)
    }

    /// Parses a base URL; a trailing `/v1` is dropped.
    private static func url(_ option: String, _ arguments: Arguments) throws -> URL {
        let text = try arguments.required(option)
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host() != nil else {
            throw UsageError("\(option): expected an address with http or https, found '\(text)'")
        }
        return url.lastPathComponent == "v1" ? url.deletingLastPathComponent() : url
    }

    /// - Returns: `nil` if none is set: some servers require no key.
    private static func key(
        _ arguments: Arguments, _ environment: [String: String], _ variables: [String]
    ) throws -> String? {
        let found: String?
        if let file = arguments.string("--key-file") {
            found = try String(contentsOfFile: file, encoding: .utf8)
        } else {
            found = variables.lazy.compactMap { environment[$0] }.first
        }
        guard let key = found?.trimmingCharacters(in: .whitespacesAndNewlines), !key.isEmpty else {
            if let file = arguments.string("--key-file") { throw UsageError("--key-file: \(file) holds no key") }
            return nil
        }
        return key
    }
}

/// No engine is available.
private struct NoEngine: Error, CustomStringConvertible {
    let description: String
}

/// Adds a system message to each request of a service.
private struct Instructed: ChatServiceProtocol {
    let service: any ChatServiceProtocol
    let instructions: String?

    func stream(_ messages: [ChatMessage]) -> AsyncThrowingStream<AnswerPiece, any Error> {
        service.stream((instructions.map { [.system($0)] } ?? []) + messages)
    }

    func stream(prompt: String) -> AsyncThrowingStream<AnswerPiece, any Error> { stream([.user(prompt)]) }
}
