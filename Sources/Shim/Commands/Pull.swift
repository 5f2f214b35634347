import CommandLineParsing
import Cryptography
import Foundation
import LocalLLM
import Wire

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

    /// - Parameters:
    ///   - say: Prints the result.
    ///   - show: Shows a progress line in place of the last one; `nil` if standard error is no terminal.
    func run(say: @escaping (String) -> Void, show: ((String) -> Void)?) async throws {
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
            let line = ProgressLine(file.name, show: show)
            defer { show?("") }
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
