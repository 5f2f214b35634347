import CommandLineParsing
import Foundation
import LocalLLM
import Tokenizer

/// Measures the time to the first token of a prompt that is new, in memory, and on disk after a restart.
struct PrefixCommand: Command {
    static let name = "prefix"
    static let summary = "measure the first token of a prompt that is new, in memory, and on disk after a restart"
    static let synopsis = "-m FILE [-p N,…]"
    static let details = """
        Loads the model anew for each prompt length, with a new folder for kept prompts. Prints for each {"prompt": tokens,
        "cold", "memory", "restart": seconds to the first token, "share": restart / cold, "read": tokens found on disk,
        "bytes": size of the files}. Before the restart the files are written out and dropped from the system's file cache, so
        that they are read from the disk; --warm leaves them there.
        """
    static let options: [Option] = [
        .model,
        Option("-p", "--n-prompt", value: "N,…", help: "tokens of the prompt (default: 1000,4000,12000)"),
        Option("--warm", help: "leave the files in the system's file cache"),
        Report.option,
    ]
    static let modelOptions: [ModelOption] = [.context, .cacheType] + ModelOption.loading

    let model: String
    let prompts: [Int]
    let isWarm: Bool
    let reportFile: String?
    let configuration: LocalModel.Configuration

    init(_ arguments: Arguments) throws(UsageError) {
        model = try arguments.model
        prompts = try arguments.ints("--n-prompt", in: 256...1_000_000) ?? [1000, 4000, 12_000]
        isWarm = arguments.has("--warm")
        reportFile = arguments.string("--report")
        configuration = try arguments.configuration(Self.modelOptions)
    }

    struct Output: Encodable {
        var prompt: Int
        var cold: Double
        var memory: Double
        var restart: Double
        var share: Double
        var read: Int
        var bytes: Int
    }

    func run() async throws -> Bool {
        var outputs: [Output] = []
        for count in prompts {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("prefix-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            var configuration = configuration
            configuration.cacheDirectory = folder
            configuration.cacheDiskBytes = .max / 2
            configuration.reportsCacheProblem = { printToStandardError("bench: \($0)") }
            let (cold, memory) = try await firstTokens(count, configuration)
            let bytes = try await settle(folder)
            let restarted = try await LocalModel.load(self.model, configuration)
            let restart = try await firstToken(count, restarted)
            let output = Output(
                prompt: count, cold: cold.secondsToFirstToken, memory: memory.secondsToFirstToken,
                restart: restart.secondsToFirstToken, share: restart.secondsToFirstToken / cold.secondsToFirstToken,
                read: restart.cachedTokens, bytes: bytes)
            try printJSON(output)
            outputs.append(output)
        }
        if let reportFile { try PrefixReport.report(outputs, model: model).write(to: reportFile) }
        return true
    }

    /// The first and the second answer of a model that is then unloaded.
    private func firstTokens(
        _ count: Int, _ configuration: LocalModel.Configuration
    ) async throws -> (cold: Usage, memory: Usage) {
        let model = try await LocalModel.load(model, configuration)
        let cold = try await firstToken(count, model)
        return (cold, try await firstToken(count, model))
    }

    private func firstToken(_ count: Int, _ model: LocalModel) async throws -> Usage {
        // Any tokens will do, since all are computed alike.
        let vocabulary = try model.tokenizer.vocabularySize
        let prompt = (0..<count).map { Int32($0 * 7919 % vocabulary) }
        var usage: Usage?
        for try await piece in model.generate(
            tokens: prompt, options: SamplingOptions(temperature: 0, maximumTokens: 1))
        {
            usage = piece.finish?.usage ?? usage
        }
        guard let usage else { throw CancellationError() }
        return usage
    }

    /// Waits until all files are written, and drops them from the system's file cache.
    ///
    /// - Returns: Their size.
    private func settle(_ folder: URL) async throws -> Int {
        var (bytes, last) = (0, -1)
        while bytes != last {
            try await Task.sleep(for: .milliseconds(500))
            (last, bytes) = (bytes, KeptPrompts.models(in: folder).reduce(0) { $0 + $1.bytes })
        }
        guard !isWarm else { return bytes }
        for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            ?? .init()
        {
            let descriptor = open(file.path, O_RDONLY)
            guard descriptor >= 0 else { continue }
            fsync(descriptor)
            #if os(Linux)
                posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
            #endif
            close(descriptor)
        }
        return bytes
    }
}
