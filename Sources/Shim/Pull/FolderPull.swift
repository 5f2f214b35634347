import CommandLineParsing
import Foundation
import LocalLLM

/// Downloads a repository's folder of safetensors: first the small files, which say whether the model is supported, then
/// the weights.
///
/// The folder is called `NAME.part` until all files are complete and verified.
struct FolderPull {
    let repository: HubRepository
    /// Of the folder, as `HubRepository.folder` lists them.
    let files: [HubRepository.Entry]
    /// Folder of models.
    let directory: URL
    var token: String?

    var target: URL { directory.appendingPathComponent(repository.name, isDirectory: true) }
    private var part: URL {
        directory.appendingPathComponent(repository.name + ".part", isDirectory: true)
    }

    /// - Throws: `PullError`, `CancellationError`. Downloaded files stay for the next attempt.
    func run(_ observer: PullObserver) async throws {
        let say = observer.say
        guard PullSource.isSafe(repository.name) else {
            throw PullError("'\(repository.name)' is not a valid name for a folder.")
        }
        guard !FileManager.default.fileExists(atPath: target.path) else {
            return say("\(repository.name) is already in \(directory.path); shim rm removes it")
        }
        let (weights, others) = (files.filter(\.isWeights), files.filter { !$0.isWeights })
        for file in others { try await download(file, observer) }
        do { try LocalModel.checkConfiguration(ofFolder: part) } catch {
            try? FileManager.default.removeItem(at: part)
            throw PullError("\(repository.name) was not downloaded. \(error.message)")
        }
        let bytes = weights.reduce(0) { $0 + $1.bytes }
        say(
            comparison(bytes, of: repository.name, with: LocalModel.availableMemory)
                + (bytes > LocalModel.availableMemory
                    ? " With --quantize Q4_K_M it takes about a third of 16-bit weights." : ""))
        for file in weights { try await download(file, observer) }
        let info: LocalModel.Info
        do { info = try LocalModel.info(of: part) } catch {
            throw PullError("\(part.path) is not a readable model. \(error.message)")
        }
        guard rename(part.path, target.path) == 0 else {
            throw PullError("\(part.path) cannot be renamed to \(target.path): \(String(cString: strerror(errno))).")
        }
        say("\(repository.name)  \(size(info.fileBytes))  \(info.architecture), \(info.quantization)")
    }

    private func download(_ entry: HubRepository.Entry, _ observer: PullObserver) async throws {
        let folder = part.appendingPathComponent(entry.path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        guard !FileManager.default.fileExists(atPath: part.appendingPathComponent(entry.path).path)
        else { return }
        let name = String(entry.path.split(separator: "/").last ?? "")
        let line = ProgressLine(entry.path, observer)
        defer { observer.show?("") }
        let file = PullSource.File(url: try repository.url(of: entry.path), name: name)
        try await Download(
            file: file, directory: folder, isGGUF: false, token: token, hub: repository.hub,
            progress: line.report
        ).run().part.finish()
    }
}

extension HubRepository.Entry {
    fileprivate var isWeights: Bool { path.hasSuffix(".safetensors") }
}

extension HubRepository {
    /// The files of the repository's folder of safetensors that are read; `nil` if there is none.
    static func folder(in entries: [Entry]) -> [Entry]? {
        let files = entries.filter { $0.type == "file" }
        let names = [
            "config.json", "generation_config.json", "tokenizer.json", "tokenizer.model",
            "added_tokens.json",
            "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "chat_template.json",
            "modules.json",
            "model.safetensors.index.json",
        ]
        let isSplit = files.contains { $0.path == "model.safetensors.index.json" }
        let weights = files.filter {
            isSplit
                ? $0.path.wholeMatch(of: /model-[0-9]{5}-of-[0-9]{5}\.safetensors/) != nil
                : $0.path == "model.safetensors"
        }
        guard !weights.isEmpty, files.contains(where: { $0.path == "config.json" }) else { return nil }
        // How encoders pool: "1_Pooling/config.json".
        let others = files.filter {
            names.contains($0.path) || $0.path.wholeMatch(of: /[0-9]_[A-Za-z]+\/config\.json/) != nil
                || $0.path.wholeMatch(of: /additional_chat_templates\/[A-Za-z0-9_.-]+\.jinja/) != nil
        }
        return others + weights
    }

    /// URL of a file of the repository.
    func url(of path: String) throws -> URL {
        try PullSource.hubURL("hf:\(owner)/\(name)/\(path)@\(revision)", hub)
    }
}
