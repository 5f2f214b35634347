import CommandLineParsing
import Foundation
import LocalLLM

extension ModelStore {
    /// The models of a command line, read from their files.
    ///
    /// - Throws: `ModelFileError` for a named file that is not a model; `UsageError` for two models with one name and
    ///   for aliases of unknown models.
    convenience init(_ options: Options) throws {
        let catalog = options.models
        for settings in [catalog.defaults] + catalog.settings.values { try settings.configuration.validate() }
        self.init(
            catalog, idleUnload: options.idleUnload.map { .seconds($0) },
            tools: .init(
                load: { try await loadModel($0, catalog.settings(of: $0.url).configuration, progress: $1) },
                estimate: {
                    try LocalModel.estimate(of: $0.url, configuration: catalog.settings(of: $0.url).configuration)
                }))
        try check(catalog)
    }

    private func check(_ catalog: ModelCatalog) throws {
        if let directory = catalog.directory, !FileManager.default.isReadableFile(atPath: directory.path) {
            throw UsageError("--models-dir \(directory.path): no such folder, or not readable")
        }
        let files = models.map(\.file)
        for (index, file) in files.enumerated() {
            if catalog.files.contains(file.url) {
                _ = try file.info.get()
            } else if case .failure(let error) = file.info {
                Shim.complain("warning: \(file.id) cannot be loaded: \(error)")
            }
            if let other = files[..<index].first(where: { $0.isCalled(file.id) }) {
                throw UsageError(
                    "\(other.url.path) and \(file.url.path) are both called \(file.id); rename one with "
                        + "--alias NAME=\(file.url.path)")
            }
        }
        var owners: [String: ModelFile] = [:]
        for file in files {
            for name in Set(catalog.settings(of: file.url).configuration.adapters.map(\.modelName)) {
                if let other = owners.updateValue(file, forKey: name) {
                    throw UsageError("adapters of \(other.id) and of \(file.id) are both called \(name); rename one")
                }
            }
        }
        for alias in catalog.aliases
        where catalog.directory == nil && !files.contains(where: { alias.isOf($0) }) {
            throw UsageError("--alias \(alias.name)=\(alias.model): no such model: \(alias.model)")
        }
    }
}

/// Loads a model and prints a summary to standard output.
private func loadModel(
    _ file: ModelFile, _ configuration: LocalModel.Configuration, progress: @escaping @Sendable (Double) -> Void
) async throws -> LocalModel {
    let line = LoadingProgress(file: file.url.lastPathComponent)
    defer { line.finish() }
    let model = try await LocalModel.load(from: file.url, configuration: configuration) { fraction in
        line.report(fraction)
        progress(fraction)
    }
    _ = try model.tokenizer  // without a tokenizer no request could be answered
    line.finish()
    Shim.say(summary(model, file.id))
    for warning in configuration.warnings(trainedContext: model.info.trainedContextSize) {
        Shim.complain("warning: \(warning)")
    }
    return model
}

private func summary(_ model: LocalModel, _ id: String) -> String {
    let info = model.info
    let size = "\(rounded(info.fileBytes))B, \(rounded(info.parameterCount)) parameters"
    return """
        Model    \(id): \(info.name), \(info.architecture), \(info.quantization), \(size)
        Context  \(model.contextSize) tokens, keys and values as \(model.cacheFormat)
        Compute  \(model.threads) threads, \(model.kernels)
        """ + (model.drafter.map { "\nDrafts   \($0)" } ?? "")
}

/// Shows loading progress on standard error if that is a terminal.
private struct LoadingProgress: Sendable {
    let file: String
    private let isTerminal = isatty(STDERR_FILENO) == 1

    init(file: String) { self.file = file }

    @Sendable func report(_ fraction: Double) { show("\rLoading \(file): \(Int(fraction * 100)) %") }

    func finish() { show("\r\u{1b}[K") }

    private func show(_ text: String) {
        if isTerminal { LogWriter.standardError.write(Array(text.utf8)) }
    }
}
