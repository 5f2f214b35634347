public import Foundation
public import LocalLLM
public import Observation

/// The language model of this machine, under its FoundationModels name.
///
/// `default` needs no set-up: it is the model that the environment variable `LOCALLLM_MODEL` names, else the first that
/// `shim pull` downloaded. It is loaded on first use, once for all sessions, and stays in memory. Its status is
/// observable and changes with the files present and the memory available.
public final class SystemLanguageModel: Observable, Sendable {
    /// The purpose of a model.
    public struct UseCase: Sendable, Equatable {
        /// Instructions put in front of a session's own.
        let instructions: String?

        /// For any task: no additional instructions.
        public static let general = Self(instructions: nil)

        /// Answers consist of tags. Apple's framework has a variant of its model for this; here instructions do it.
        public static let contentTagging = Self(
            instructions: "Answer with tags for the text you are given: its topics, objects, actions and emotions, "
                + "each in one to three lowercase words, separated by commas. Write nothing else.")
    }

    /// The model that `LOCALLLM_MODEL` names, else the first downloaded one.
    public static let `default` = SystemLanguageModel()

    let host: ModelHost
    let useCase: UseCase
    let guardrails: Guardrails

    /// The default model, for another use case or with other guardrails.
    public convenience init(useCase: UseCase = .general, guardrails: Guardrails = .default) {
        self.init(.standard, useCase, guardrails)
    }

    /// The model in a file that the app ships or downloads itself.
    ///
    /// - Parameters:
    ///   - file: A GGUF file, or the first part of a split one. It need not exist yet: a file of the same name with
    ///     `.part` appended counts as a running download, and its size gives the progress.
    ///   - configuration: How the model is loaded.
    public convenience init(
        contentsOf file: URL, configuration: LocalModel.Configuration = .init(), useCase: UseCase = .general,
        guardrails: Guardrails = .default
    ) {
        self.init(ModelHost(.file(file), configuration: configuration), useCase, guardrails)
    }

    init(_ host: ModelHost, _ useCase: UseCase = .general, _ guardrails: Guardrails = .default) {
        self.host = host
        self.useCase = useCase
        self.guardrails = guardrails
    }

    /// Whether requests are answered. This includes models that are not loaded yet or are being loaded: the request
    /// waits. `status` tells them apart.
    public var availability: Availability { status.availability }

    /// Whether `availability` is `.available`. Reading it checks the file and the free memory at that moment.
    public var isAvailable: Bool { availability == .available }

    /// Whether the model can answer, and if not, why, with the numbers.
    public var status: Status { host.status }

    /// Whether the model may be used, as for a switch in an app's settings. If the environment has
    /// `LOCALLLM_DISABLED=1`, the default model starts disabled. A disabled model is released from memory once no
    /// answer is running.
    public var isEnabled: Bool {
        get { host.isEnabled }
        set { host.isEnabled = newValue }
    }

    /// Maximum tokens of instructions, earlier turns, prompt and answer together; 0 if there is no model.
    public var contextSize: Int { host.contextSize }

    /// The languages that the model's file names; empty for the many files that name none.
    public var supportedLanguages: Set<Locale.Language> { Set(host.languages.map { Locale.Language(identifier: $0) }) }

    /// Whether the model's file names the locale's language; also true if it names no languages.
    public func supportsLocale(_ locale: Locale = .current) -> Bool {
        let languages = supportedLanguages
        return languages.isEmpty || languages.contains { $0.languageCode == locale.language.languageCode }
    }

    /// Loads the model unless it is loaded or being loaded; returns when it is in memory.
    ///
    /// - Throws: `Error` with the reason; `CancellationError`, which does not stop the load for others that
    ///   wait.
    public func load() async throws { _ = try await host.model() }
}

extension SystemLanguageModel: Provider {
    /// Loads the model if it is not loaded.
    public func begin(
        _ request: ConversationRequest, guardrail: (any Guardrail)?
    ) async throws -> Conversation {
        try await host.model().begin(request, guardrail: guardrail)
    }
}
