import CommandLineParsing
import Foundation
import LocalLLM

/// Which local model the program uses.
struct ModelChoice {
    private let arguments: Arguments
    private let environment: [String: String]
    private let downloaded: DownloadedModels

    init(_ arguments: Arguments, environment: [String: String] = ProcessInfo.processInfo.environment) {
        (self.arguments, self.environment) = (arguments, environment)
        downloaded = DownloadedModels(environment)
    }

    private var hasCloud: Bool { arguments.has("--cloud") || arguments.has("--backend") }

    /// The model that is named; without a cloud also the only one, the one used last, or the user's choice.
    ///
    /// - Parameter asks: Whether the user may be asked.
    /// - Returns: `nil`: the cloud answers alone.
    func model(_ terminal: Terminal, asks: Bool) async throws -> URL? {
        let variable = environment["LOCALLLM_MODEL"].flatMap { $0.isEmpty || hasCloud ? nil : $0 }
        if let name = arguments.string("--model") ?? variable {
            // Beside a cloud, a model may come later.
            do { return try downloaded.find(name) } catch {
                guard hasCloud, error.isMissing else { throw error }
                return URL(fileURLWithPath: name)
            }
        }
        if hasCloud { return nil }
        if downloaded.models.count != 1 {
            if let last = Self.last(environment) { return last }
            if downloaded.models.count > 1, asks { return try await ask(terminal) }
        }
        return try downloaded.only()
    }

    private func ask(_ terminal: Terminal) async throws -> URL {
        terminal.note("Several models are there. Which one is to answer?")
        let rows = downloaded.models.enumerated().map { index, model in
            let bytes = (try? LocalModel.info(of: model).fileBytes).map { size($0) } ?? ""
            return ["\(index + 1)", DownloadedModels.name(of: model), bytes]
        }
        terminal.note(table(rows))
        while let answer = await terminal.line("Number or name: ") {
            if let number = Int(answer), downloaded.models.indices.contains(number - 1) {
                return downloaded.models[number - 1]
            }
            do { return try downloaded.find(answer) } catch { terminal.complain("\(error)") }
        }
        throw CancellationError()
    }

    /// The file that names the model of the last conversation.
    private static func lastFile(_ environment: [String: String]) -> URL {
        dataFolder(environment).appendingPathComponent("last-model")
    }

    /// The model of the last conversation, if it is still there.
    private static func last(_ environment: [String: String]) -> URL? {
        guard let path = try? String(contentsOf: lastFile(environment), encoding: .utf8), !path.isEmpty,
            FileManager.default.fileExists(atPath: path)
        else { return nil }
        return URL(fileURLWithPath: path)
    }

    /// Remembers the model of a conversation for the next start.
    static func remember(_ model: URL, environment: [String: String] = ProcessInfo.processInfo.environment) {
        let file = lastFile(environment)
        try? FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        // Not to be told where the last conversation was is no reason to fail.
        try? Data(model.standardizedFileURL.path.utf8).write(to: file, options: .atomic)
    }
}
