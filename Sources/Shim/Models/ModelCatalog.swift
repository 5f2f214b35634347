import CommandLineParsing
import Foundation
import LocalLLM

/// Where the models are: files named on the command line, and a folder whose contents may change.
struct ModelCatalog: Sendable {
    /// Another name for `model`.
    struct Alias: Sendable, Equatable {
        /// `*` stands for every name that no model has.
        var name: String
        var model: String
    }

    var files: [URL] = []
    var directory: URL?
    var aliases: [Alias] = []
    /// Settings of models that have none of their own.
    var defaults = ModelSettings()
    /// Settings of single models, by `key`.
    var settings: [String: ModelSettings] = [:]
    /// Whether prompts of downloaded models are kept on disk even if no option says so.
    var keepsPromptsOfDownloaded = false
    /// Where the settings of single models stand in the configuration file, by `key` and by the name of the setting.
    var places: [String: [String: String]] = [:]

    /// The file, however its path is written.
    static func key(_ url: URL) -> String { url.standardizedFileURL.path }

    func settings(of url: URL) -> ModelSettings {
        var found = settings.isEmpty ? defaults : settings[Self.key(url)] ?? defaults
        if keepsPromptsOfDownloaded { found.configuration.keepPrompts(ofDownloaded: url) }
        return found
    }

    /// Whether any model may have an image encoder.
    var seesImages: Bool {
        defaults.configuration.imageEncoder != nil
            || settings.values.contains { $0.configuration.imageEncoder != nil }
    }

    /// Lists the models. A split model is listed by its first part present; reading that reports the missing ones.
    ///
    /// - Parameter known: The last result, so that unchanged files are not read again.
    func scan(knowing known: [ModelFile] = []) -> [ModelFile] {
        let inDirectory = directory.map { ModelFolder.models(in: $0) } ?? []
        var models: [ModelFile] = []
        var keys: Set<String> = []
        for url in files + inDirectory where keys.insert(Self.key(url)).inserted {
            let plain = ModelFile(url, known: known.first { $0.url == url })
            let names = aliases.filter { $0.name != "*" && $0.isOf(plain) }.map(\.name)
            models.append(names.isEmpty ? plain : ModelFile(url, aliases: names, known: plain))
        }
        return models
    }

    /// The model for names that no model has; `nil` without the alias `*`.
    func fallback(_ models: [ServedModel]) -> ServedModel? {
        guard let alias = aliases.first(where: { $0.name == "*" }) else { return nil }
        return models.first { alias.isOf($0.file) }
    }
}

extension ModelCatalog.Alias {
    func isOf(_ file: ModelFile) -> Bool { file.isCalled(model) || file.url.path.hasSameBytes(as: model) }
}

extension ModelCatalog {
    /// Reads `--model`, `--models-dir` and `--alias`, and takes the models of the configuration file. Defaults to the file in `LOCALLLM_MODEL`, else to the folder of
    /// `shim pull`.
    init(
        _ arguments: Arguments, environment: [String: String], defaults: ModelSettings = .init(),
        configured: [ConfigFile.Model] = []
    ) throws(UsageError) {
        self.defaults = defaults
        for model in configured {
            let key = Self.key(model.url)
            (settings[key], places[key]) = (model.settings, model.places)
            aliases += model.aliases.map { Alias(name: $0, model: model.url.path) }
        }
        let downloaded = DownloadedModels(environment)
        files = configured.map(\.url)
        for name in arguments.strings("--model") { files.append(try downloaded.url(of: name)) }
        directory = arguments.string("--models-dir").map { URL(fileURLWithPath: $0) }
        if files.isEmpty, directory == nil, let named = environment["LOCALLLM_MODEL"], !named.isEmpty {
            files = [try downloaded.url(of: named)]
        }
        if files.isEmpty, directory == nil {
            guard !downloaded.models.isEmpty else {
                throw UsageError(
                    "no model: give --model FILE or --models-dir DIR, or download one. \(KnownModel.advice())")
            }
            directory = downloaded.directory
        }
        for text in arguments.strings("--alias") {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.allSatisfy({ !$0.isEmpty }) else {
                throw UsageError("--alias: expected a name, found '\(text)'")
            }
            if parts.count == 2 {
                aliases.append(Alias(name: parts[0], model: parts[1]))
            } else if files.count == 1, directory == nil {
                aliases.append(Alias(name: text, model: files[0].lastPathComponent))
            } else {
                throw UsageError("--alias \(text): expected NAME=MODEL for several models")
            }
        }
    }
}
