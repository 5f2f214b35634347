import Client
import CommandLineParsing
import Foundation
import FoundationModels
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
                samplingMode: seed.map { .random(probabilityThreshold: 0.95, seed: UInt64($0)) },
                temperature: temperature, maximumResponseTokens: maximumTokens)
        }
    }

    var settings: Settings
    /// File of the local model.
    private(set) var file: URL?
    private(set) var model: SystemLanguageModel?
    private let configuration: LocalModel.Configuration
    private let cloud: (any ChatServiceProtocol)?
    /// The cloud, if it is one that takes schemas.
    private let provider: (any Provider)?
    private let hasBackend: Bool
    /// The cloud, as it is called in the first line.
    let cloudName: String?
    /// Whether texts are continued instead of answered, whatever the model.
    private let completes: Bool
    /// Whether the model's file has a chat template.
    private var hasTemplate = true
    /// Reviews prompts and answers of all engines.
    private let guardrail: WordListGuardrail?

    /// Makes the local service with the current settings.
    ///
    /// - Parameter tools: What the model may call.
    func makeLocal(tools: [any Tool] = []) -> any LocalLLMServiceProtocol {
        guard let model else { return FallbackLLMService(reason: "There is no local model. Give one with --model.") }
        if completes || !hasTemplate { return CompletionService(model: model, options: settings.options) }
        return LocalLLMService(
            model: model, instructions: settings.system, options: settings.options, tools: tools)
    }

    /// Makes an engine whose answers are JSON that a schema describes.
    func makeEngine(_ schema: GenerationSchema) throws(UsageError) -> DualEngine {
        guard !completes else { throw UsageError("--complete and --schema exclude each other") }
        guard cloud == nil || provider != nil else { throw UsageError("--schema: the service of --backend takes none") }
        let cloud = provider.map { ProviderLanguageModel($0, name: "cloud", guardrails: guardrails) }
        let told = settings.system
        return DualEngine(
            local: model.map {
                SchemaService(model: $0, schema: schema, instructions: told, options: settings.options)
            },
            cloud: cloud.map { SchemaService(model: $0, schema: schema, instructions: told, options: .init()) })
    }

    /// - Parameter local: Result of `makeLocal`.
    func makeEngine(_ local: any LocalLLMServiceProtocol) -> DualEngine {
        DualEngine(
            local: model == nil ? nil : local,
            cloud: cloud.map { hasBackend ? $0 : Instructed(service: $0, instructions: settings.system) })
    }

    private var guardrails: SystemLanguageModel.Guardrails { .init(guardrail.map { [$0] } ?? []) }

    /// Whether one of the engines may be able to look at images; nobody knows it of a cloud before it is asked.
    var seesImages: Bool { configuration.imageEncoder != nil || cloud != nil && !hasBackend }

    func has(_ engine: EngineKind) -> Bool { engine == .local ? model != nil : cloud != nil }

    /// Whether there is more than one engine.
    var isChoice: Bool { has(.local) && has(.cloud) }

    /// Whether a policy asks an engine that is there.
    func canAnswer(_ policy: FallbackPolicy) -> Bool { policy.engines.contains { has($0) } }

    /// What a command says that needs a cloud.
    static let noCloud = "there is no cloud; start chat with --cloud or --backend"

    /// Maximum tokens of the local model's prompts and answers; `nil` if there is none.
    var contextSize: Int? { model?.contextSize }

    /// Returns when the local model is in memory.
    func load() async throws { try await model?.load() }

    /// The probabilities of the answers to a question, from the local model.
    func decide(_ question: DecisionQuestion, about messages: [ChatMessage]) async throws -> DecisionAnswer {
        guard let model else { throw UsageError("/decide needs a local model (--model)") }
        return try await model.decide([question], about: messages).answers[0]
    }

    /// Where answers come from, in the order in which it is tried.
    func places(_ policy: FallbackPolicy) -> [String] {
        let (local, cloud) = (model == nil ? nil : "this machine", cloudName)
        let found = policy.engines.compactMap { $0 == .local ? local : cloud }
        return found.isEmpty ? ["nowhere: the policy is \(policy)"] : found
    }

    /// Says that texts are continued, if they are.
    var completionNote: String? {
        guard model != nil else { return nil }
        if !hasTemplate {
            return "This is a base model, without a chat template: it does not answer, it continues what you type."
        }
        return completes ? "What you type is continued, not answered (--complete)." : nil
    }

    static let groups = [
        OptionGroup(
            "Model",
            [
                Option(
                    "-m", "--model", value: "NAME",
                    default: "LOCALLLM_MODEL, the only downloaded model, or the last one used",
                    help: "the local model: a GGUF file, or a part of a downloaded model's name"),
                complete,
            ]),
        OptionGroup("Answers of the local model", answerOptions),
        OptionGroup("How the local model is loaded", ModelOption.all.map(\.option)),
        OptionGroup(
            "Cloud",
            [
                Option(
                    "--cloud", value: "URL",
                    help:
                        "an OpenAI-compatible server; its key, if needed, is read from LOCALLLM_CLOUD_KEY or OPENAI_API_KEY"
                ),
                Option("--cloud-model", value: "NAME", help: "the model to ask on that server"),
                Option(
                    "--backend", value: "URL",
                    help: "a chat app's backend; the app's key is read from LOCALLLM_APP_KEY"),
                Option(
                    "--key-file", value: "FILE",
                    help: "reads the key of --cloud or --backend from a file instead of a variable"),
                Option(
                    "--policy", value: "NAME",
                    help: "which engine is asked: localFirst, cloudFirst, localOnly or cloudOnly"),
            ]),
    ]

    private static let complete = Option(
        "--complete", help: "continues each text as it is, without a chat template; base models do so anyway")

    private static let answerOptions = [
        SamplingOption.temperature.option,
        Option("--seed", value: "N", help: "makes sampling reproducible, at top-p 0.95 (default: random)"),
        Option(
            "-n", "--max-tokens", value: "N", default: "what the context leaves; 200 where texts are continued",
            help: "maximum tokens of an answer"
        ),
    ]

    /// Options that apply only to a local model.
    private static let localOptions = [complete] + answerOptions + ModelOption.all.map(\.option)

    /// - Parameters:
    ///   - file: The local model, if there is one.
    ///   - log: Called with errors of the cloud server.
    init(
        _ arguments: Arguments, model file: URL?,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        log: @escaping @Sendable (String) -> Void
    ) throws {
        guardrail = try arguments.guardrail()
        let service = try Self.cloud(arguments, environment, log)
        provider = service as? any Provider
        if let service, let guardrail { cloud = GuardedChatService(service, guardrail) } else { cloud = service }
        hasBackend = arguments.has("--backend")
        cloudName = try Self.cloudName(arguments)
        completes = arguments.has("--complete")
        for other in ["--system", "--image"] where completes && arguments.has(other) {
            throw UsageError("--complete and \(other) exclude each other: a text is continued, not a conversation")
        }
        settings = Settings(
            system: arguments.string("--system"), temperature: try arguments.double("--temperature", in: 0...2),
            seed: try arguments.int("--seed"), maximumTokens: try arguments.int("--max-tokens", in: 1...Int.max))
        configuration = try arguments.configuration(ModelOption.all)
        try configuration.validate()
        guard let file else {
            for option in Self.localOptions where arguments.has(option.names[0]) {
                throw UsageError("\(option.names[0]) needs --model: it applies to the local model")
            }
            return
        }
        let status = use(file, environment: environment)
        if cloud == nil, case .unavailable = status.availability {
            throw NoEngine(description: status.statusMessage)
        }
    }

    /// The engines of a command line. Warnings about its options go to standard error.
    ///
    /// - Parameter asks: Whether the user may be asked which model to use.
    init(_ arguments: Arguments, _ terminal: Terminal, asks: Bool) async throws {
        let model = try await ModelChoice(arguments).model(terminal, asks: asks)
        try self.init(arguments, model: model, log: { terminal.note($0) })
        for warning in warnings { terminal.note("warning: \(warning)") }
    }

    /// Warnings about the local model's options, as text for the user.
    private var warnings: [String] {
        // The file is read only for options that could cause a warning.
        guard let file, configuration.contextSize != nil || configuration.threads != nil,
            let info = try? LocalModel.info(of: file)
        else { return [] }
        return configuration.warnings(trainedContext: info.trainedContextSize)
    }

    /// Reads an image for a message.
    ///
    /// - Throws: `UsageError` where nobody could look at it, and for a file that is not an image.
    func image(at path: String) throws -> Data {
        guard seesImages else {
            throw UsageError("\(path): the model accepts no images without its image encoder (--mmproj FILE)")
        }
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else {
            throw UsageError("No such file: \(path)")
        }
        let most = RGBImage.Limits().bytes
        guard size <= most else { throw UsageError("\(path): expected at most \(most) bytes, found \(size)") }
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        do { _ = try RGBImage(file: Array(data)) } catch { throw UsageError("\(path): \(error)") }
        return data
    }

    /// Changes the local model.
    ///
    /// - Returns: Its status: a model that is unavailable is named all the same.
    @discardableResult
    mutating func use(
        _ file: URL, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> SystemLanguageModel.Status {
        var configuration = configuration
        configuration.keepPrompts(ofDownloaded: file, environment: environment)
        let model = SystemLanguageModel(
            contentsOf: file, configuration: configuration, guardrails: guardrails)
        (self.file, self.model) = (file, model)
        hasTemplate = (try? LocalModel.info(of: file).hasChatTemplate) ?? true
        return model.status
    }

    private static func cloudName(_ arguments: Arguments) throws -> String? {
        guard let option = ["--backend", "--cloud"].first(where: arguments.has) else { return nil }
        let host = try url(option, arguments).host() ?? ""
        return (arguments.string("--cloud-model").map { "\($0) at " } ?? "") + host
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
