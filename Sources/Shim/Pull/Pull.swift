import CommandLineParsing
import Cryptography
import Foundation
import LocalLLM
import Wire

/// What is told about a download.
struct PullObserver {
    /// Prints a message.
    var say: (String) -> Void
    /// Shows a progress line in place of the last one; `nil` if standard error is no terminal.
    var show: ((String) -> Void)?
    /// Gets the bytes of a file so far, and of the whole file if they are known.
    var progress: (_ file: String, _ count: Int, _ total: Int?) -> Void = { _, _, _ in }
}

/// Downloads what a text names: a URL, or a file or a repository of Hugging Face. Of a repository that leaves a choice, it
/// lists the files.
///
/// - Parameters:
///   - text: As `PullSource.meant` takes it.
///   - preferred: The quantization to take where the text leaves a choice; `nil`: the user chooses.
/// - Returns: The model, which may have been there before; `nil` if the user has to choose.
@discardableResult
func pullModel(
    _ text: String, into directory: URL, sha256: String? = nil, token: String?, hub: URL = PullSource.hub,
    choosing preferred: String? = nil, _ observer: PullObserver
) async throws -> URL? {
    if let known = KnownModel.named(text) { observer.say("\(known.name): \(known.repository), \(known.summary)") }
    var text = try PullSource.meant(by: text)
    if var repository = try HubRepository(text, hub: hub) {
        let entries = try await repository.entries(token: token)
        let listing = HubRepository.quantizations(in: entries)
        if listing.isEmpty, repository.quantization == nil, let files = HubRepository.folder(in: entries) {
            let pull = FolderPull(repository: repository, files: files, directory: directory, token: token)
            try await pull.run(observer)
            return pull.target
        }
        if listing.isEmpty, let quantization = repository.quantization, HubRepository.folder(in: entries) != nil {
            throw PullError(
                "\(repository.owner)/\(repository.name) has no GGUF files, but safetensors: `shim pull hf:\(repository.owner)"
                    + "/\(repository.name)` downloads them, and `shim --quantize \(quantization)` quantizes them when it loads them."
            )
        }
        if listing.count > 1, repository.quantization == nil { repository.quantization = preferred }
        guard let file = try repository.choose(from: listing) else {
            observer.say(repository.describe(listing, entries: entries))
            return nil
        }
        text = file
    }
    let pull = try Pull(text, into: directory, sha256: sha256, token: token, hub: hub)
    try await pull.run(observer)
    return directory.appendingPathComponent(pull.source.files[0].name)
}

/// `shim pull`: downloads a model and renames its files once all are complete and verified.
struct Pull {
    let source: PullSource
    let directory: URL
    var sha256: String?
    var token: String?
    var hub: URL

    init(
        _ text: String, into directory: URL, sha256: String? = nil, token: String? = nil, hub: URL = PullSource.hub
    ) throws(UsageError) {
        source = try PullSource(text, hub: hub)
        self.directory = directory
        self.hub = hub
        // An empty variable counts as unset.
        self.token = token.flatMap { $0.isEmpty ? nil : $0 }
        guard let sha256 else { return }
        guard let digest = SHA256.digest(sha256) else {
            throw UsageError("--sha256: expected 64 hexadecimal digits, found '\(sha256)'")
        }
        guard source.files.count == 1 else {
            throw UsageError("--sha256 needs a single file; the model has \(source.files.count) parts")
        }
        self.sha256 = digest
    }

    func run(_ observer: PullObserver) async throws {
        let say = observer.say
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let missing = source.files.filter {
            !FileManager.default.fileExists(atPath: directory.appendingPathComponent($0.name).path)
        }
        guard !missing.isEmpty else {
            return say("\(source.files[0].name) is already in \(directory.path); shim rm removes it")
        }
        var results: [Download.Result] = []
        var bytes = 0
        for file in missing {
            let line = ProgressLine(file.name, observer)
            defer { observer.show?("") }
            results.append(
                try await Download(
                    file: file, directory: directory, sha256: sha256, token: token, hub: hub,
                    begins: {
                        bytes += $0
                        // Of a model in parts, only the part with which it no longer fits.
                        guard source.files.count == 1 || bytes > LocalModel.availableMemory else { return }
                        say(comparison(bytes, of: file.name, with: LocalModel.availableMemory))
                    },
                    progress: line.report
                ).run())
        }
        // The first part last, so that it exists only if the model is complete.
        for result in results.reversed() { try result.part.finish() }
        for (file, result) in zip(missing, results) {
            let digest =
                (result.isVerified ? "SHA-256 verified: " : "not verified; SHA-256: ")
                + result.part.sha256
            say("\(file.name)  \(size(result.part.count))  \(digest)")
        }
    }
}

/// Says before a model is downloaded whether its weights fit into memory.
func comparison(_ bytes: Int, of name: String, with available: Int) -> String {
    bytes <= available
        ? "\(name) has \(size(bytes)); \(size(available)) of memory are free."
        : "\(name) does not fit into memory now: it has \(size(bytes)), and \(size(available)) are free."
}
