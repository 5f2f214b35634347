public import Foundation
public import Observation
import Tokenizer

/// The language model of this machine, by the name that apps written for FoundationModels know it by.
///
/// `default` needs no set-up: it is the model that the environment variable `LOCALLLM_MODEL` names, else the first that
/// `shim pull` downloaded. It is loaded when first needed, once for all sessions, and stays in memory. Its state can be
/// observed, and changes as files come and go and memory runs short.
public final class SystemLanguageModel: Observable, Sendable {
    /// What a model is used for.
    public struct UseCase: Sendable, Equatable {
        /// What the model is told before a session's own instructions.
        let instructions: String?

        public static let general = Self(instructions: nil)

        /// Answers are tags. Apple's framework has a variant of its model for it; here the same model is told to.
        public static let contentTagging = Self(
            instructions: "Answer with tags for the text you are given: its topics, objects, actions and emotions, "
                + "each in one to three lowercase words, separated by commas. Write nothing else.")
    }

    public static let `default` = SystemLanguageModel()

    let host: ModelHost
    let useCase: UseCase
    let guardrails: Guardrails

    /// The default model, for another use or with other guardrails.
    public convenience init(useCase: UseCase = .general, guardrails: Guardrails = .default) {
        self.init(.standard, useCase, guardrails)
    }

    /// The model of a file that the app brings along or downloads itself.
    ///
    /// - Parameters:
    ///   - file: A GGUF file, or the first part of a split one. It need not be there yet: while there is a file of the same
    ///     name with `.part` appended, that counts as a download of which the size tells the progress.
    ///   - configuration: How it is loaded.
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

    /// Whether the model answers when it is asked. One that is not in memory yet, or is being loaded, does: the answer
    /// waits for it. `status` says which.
    public var availability: Availability { status.availability }

    public var isAvailable: Bool { availability == .available }

    /// What keeps it from answering, with the numbers.
    public var status: Status { host.status }

    /// Whether it may be used: the switch of an app's settings. Where the environment has `LOCALLLM_DISABLED=1`, the default
    /// model begins switched off. Switched off, it leaves memory as soon as no answer is under way.
    public var isEnabled: Bool {
        get { host.isEnabled }
        set { host.isEnabled = newValue }
    }

    /// Most tokens that a prompt, what was said before, and the answer may have together; 0 while there is no model.
    public var contextSize: Int { host.contextSize }

    /// The languages that the model's file names; many name none.
    public var supportedLanguages: Set<Locale.Language> { Set(host.languages.map { Locale.Language(identifier: $0) }) }

    /// Whether the model's file names the locale's language, or names none: then nobody knows.
    public func supportsLocale(_ locale: Locale = .current) -> Bool {
        let languages = supportedLanguages
        return languages.isEmpty || languages.contains { $0.languageCode == locale.language.languageCode }
    }

    /// Returns once the model is in memory; loads it if nobody does.
    ///
    /// - Throws: `GenerationError`, which says why it cannot be; `CancellationError`, which leaves the loading to others.
    public func load() async throws { _ = try await host.model() }

    /// The tokens of a prompt's text and pictures. Templates add some for each turn; those are counted with transcript entries.
    public func tokenCount(for prompt: Prompt) async throws -> Int {
        let entry = Transcript.Prompt(segments: prompt.segments)
        let images = try await LanguageModelSession.GenerationError.naming { [host] in
            entry.segments.contains { $0.image != nil }
                ? try await host.model().images(of: Transcript(entries: [.prompt(entry)])) : [:]
        }
        return try await tokenCount(of: prompt.text) + images.values.reduce(0) { $0 + $1.tokenCount }
    }

    /// The tokens of the text of instructions.
    public func tokenCount(for instructions: Instructions) async throws -> Int {
        try await tokenCount(of: instructions.text)
    }

    /// The tokens of a text.
    public func tokenCount(for text: String) async throws -> Int { try await tokenCount(of: text) }

    /// The tokens that a conversation takes, with all that the model's template writes around it.
    public func tokenCount(for entries: some Collection<Transcript.Entry>) async throws -> Int {
        let transcript = Transcript(entries: entries)
        return try await LanguageModelSession.GenerationError.naming { [host, useCase] in
            let model = try await host.model()
            let images = try await model.images(of: transcript)
            return try ConversationWindow(transcript, for: useCase, images: images).prompt(for: model).count
        }
    }

    private func tokenCount(of text: String) async throws -> Int {
        try await LanguageModelSession.GenerationError.naming { [host] in
            try await host.model().tokenizer.encode(text, addSpecial: false, parseSpecial: false).count
        }
    }
}
