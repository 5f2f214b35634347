import CommandLineParsing
import Foundation
import LocalLLM
import Platform

/// `shim show NAME`: a model's metadata and memory estimate.
func describe(_ model: ModelFile) throws -> String {
    let info = try model.info.get()
    var rows = [
        ["Name", model.id], ["Title", info.name], ["File", model.url.path], ["Size", size(info.fileBytes)],
        ["Architecture", info.architecture], ["Quantization", info.quantization],
        ["Weights", info.tensorShares],
        ["Parameters", rounded(info.parameterCount)], ["Context", "\(info.trainedContextSize) tokens"],
        ["Vocabulary", "\(info.vocabularySize) tokens"],
        [
            "Template",
            info.hasChatTemplate ? "in the file" : "none in the file: chat continues texts, shim uses a simple one",
        ],
        ["Licence", info.license ?? "not in the file"],
    ]
    let estimate = try LocalModel.estimate(of: model.url)
    var contexts = [4096, 16_384, 65_536, 262_144].filter { $0 < info.trainedContextSize }
    contexts.append(info.trainedContextSize)
    if !contexts.contains(estimate.contextSize) { contexts.append(estimate.contextSize) }
    for (index, context) in contexts.sorted().enumerated() {
        let needed = try LocalModel.estimate(of: model.url, configuration: .init(contextSize: context))
        let isChosen = context == estimate.contextSize ? " (the default here)" : ""
        rows.append([
            index == 0 ? "Memory" : "",
            "\(size(needed.total)) with a context of \(context) tokens\(isChosen)",
        ])
    }
    rows.append([
        "Fits",
        estimate.fits ? "yes, \(size(estimate.available)) are free" : "no, \(size(estimate.available)) are free",
    ])
    return table(rows)
}

extension LocalModel.Info {
    /// Which types the weights have, with their shares of the bytes from half a percent on.
    fileprivate var tensorShares: String {
        let total = max(1, tensorBytes.reduce(0) { $0 + $1.bytes })
        let shares = tensorBytes.map { ($0.type, ($0.bytes * 100 + total / 2) / total) }.filter { $0.1 > 0 }
        return shares.map { "\($0) \($1) %" }.joined(separator: ", ")
    }
}

/// `shim run`: replaces this process by the program `chat` beside it. Downloads the model first if necessary.
///
/// - Returns: Never; on success `chat` runs in this process, else it throws, or has listed what to choose from.
func runChat(_ words: [String], in directory: URL, pull: (String) async throws -> URL?) async throws {
    guard let name = words.first, !name.hasPrefix("-") else {
        throw PullError("shim run: expected the NAME of a model")
    }
    guard let url = try await model(name, in: directory, pull: pull) else { return }
    let program = ThisProcess.folder.appendingPathComponent("chat").path
    var arguments = ([program, "--model", url.standardized.path] + words.dropFirst()).map { strdup($0) } + [nil]
    execv(program, &arguments)
    throw PullError("\(program) cannot be started: \(String(cString: strerror(errno))).")
}

/// - Returns: `nil` if the name leaves a choice, which was shown.
private func model(_ name: String, in directory: URL, pull: (String) async throws -> URL?) async throws -> URL? {
    if name.hasPrefix("hf:") || name.contains("://") { return try await pull(name) }
    do { return try DownloadedModels(in: directory).find(name) } catch {
        guard error.isMissing, name.contains("/") || KnownModel.named(name) != nil else { throw error }
        return try await pull(name)
    }
}
