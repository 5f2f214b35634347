import CommandLineParsing
import Foundation
import HTTP
import LocalLLM
import Wire

let version = "0.1.0"

/// Serves a language model to the clients of OpenAI's API.
@main
enum Shim {
    static func main() async {
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst(), options: Options.all)
            if arguments.has("--help") {
                say(Options.usage)
            } else if arguments.has("--version") {
                say("shim \(version)")
            } else {
                try await serve(Options(arguments))
            }
            exit(0)
        } catch let error as UsageError {
            complain("\(error)\n\n\(Options.usage)")
            exit(2)
        } catch {
            complain((error as? any LocalizedError)?.errorDescription ?? "\(error)")
            exit(1)
        }
    }

    /// Opens the port, loads the model, and answers until told to stop.
    private static func serve(_ options: Options) async throws {
        let signals = StopSignals()
        let model = ServedModel(file: options.model, alias: options.alias)
        let router = Router(model: model, requestTimeout: options.requestTimeout)
        let access = options.access
        if let file = access.keyFile, APIKeys.isReadableByAll(file) {
            complain("warning: every user of this machine can read \(file): chmod o-r takes that away")
        }
        let log = RequestLog()
        let door = FrontDoor(
            keys: access.keys, origins: access.origins, logsPrompts: access.logsPrompts,
            next: router.respond)
        let tls = try access.tlsIdentity()
        let server = try await Server.start(
            .init(
                host: options.host, port: options.port, tls: tls, errorResponse: errorResponse, log: log.write),
            handler: door.respond)
        let addresses = server.addresses.map { "\(tls == nil ? "http" : "https")://\($0)" }
        say("Listening on \(addresses.joined(separator: " and "))")

        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let engine = try await load(options)
                model.finishLoading(engine)
                say(summary(engine, model, addresses.first ?? ""))
                try await Task.sleep(for: .seconds(Int64.max / 2))
            }
            group.addTask { await signals.wait() }
            defer { group.cancelAll() }
            try await group.next()
        }
        complain("stopping; once more to stop at once")
        await server.stop(within: access.drain)
        log.flush()
        withExtendedLifetime(signals) {}
    }

    private static func load(_ options: Options) async throws -> LanguageModel {
        let progress = LoadingProgress(file: options.model.lastPathComponent)
        defer { progress.finish() }
        let model = try await LanguageModel.load(
            from: options.model,
            configuration: .init(
                contextSize: options.context, threads: options.threads, tier: options.tier,
                cacheFormat: options.cacheFormat),
            progress: progress.report)
        _ = try model.tokenizer  // without one no request could be answered
        return model
    }

    private static func summary(_ engine: LanguageModel, _ model: ServedModel, _ address: String) -> String {
        let info = engine.info
        let size = "\(rounded(info.fileBytes))B, \(rounded(info.parameterCount)) parameters"
        return """
            Model    \(model.card.id): \(info.name), \(info.architecture), \(info.quantization), \(size)
            Context  \(engine.contextSize) tokens, keys and values as \(engine.cacheFormat)
            Compute  \(engine.threads) threads, \(engine.kernels)
            Try      curl \(address)/v1/chat/completions -H 'Content-Type: application/json' \
            -d '{"model":"\(model.card.id)","messages":[{"role":"user","content":"Hello"}]}'
            """
    }

    /// `1.24 G`
    private static func rounded(_ count: Int) -> String {
        let (divisor, unit) = count >= 1_000_000_000 ? (1e9, "G") : (1e6, "M")
        return String(format: "%.2f %@", Double(count) / divisor, unit)
    }

    private static func say(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8)) }

    private static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("shim: \(text)\n".utf8))
    }
}

/// Shows on a terminal how far loading is.
private struct LoadingProgress: Sendable {
    let file: String
    private let isTerminal = isatty(STDERR_FILENO) == 1

    init(file: String) { self.file = file }

    @Sendable func report(_ fraction: Double) { show("\rLoading \(file): \(Int(fraction * 100)) %") }

    func finish() { show("\r\u{1b}[K") }

    private func show(_ text: String) {
        if isTerminal { FileHandle.standardError.write(Data(text.utf8)) }
    }
}
