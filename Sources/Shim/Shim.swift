import CommandLineParsing
import Foundation
import HTTP
import LocalLLM
import Platform
import Synchronization
import Wire

let version = "0.2.0"

/// An OpenAI-compatible server for language models.
package enum Shim {
    /// Runs the program `shim` with the arguments of this process.
    package static func main(_ gateway: Gateway) async {
        let words = Array(CommandLine.arguments.dropFirst())
        let command = words.first.flatMap { ModelCommand(rawValue: $0) }
        do {
            if let command { try await command.run(words.dropFirst(), gateway) } else { try await run(words, gateway) }
            end(0)
        } catch let error as UsageError {
            complain("\(error)\nSee: shim \(command.map { "\($0) " } ?? "")--help")
            end(2)
        } catch {
            complain((error as? any LocalizedError)?.errorDescription ?? "\(error)")
            end(1)
        }
    }

    private static func run(_ words: [String], _ gateway: Gateway) async throws {
        if let word = words.first, !word.hasPrefix("-") {
            if word == "help" { return say(Options.usage(gateway)) }
            if word == "serve" { throw UsageError("there is no command 'serve': shim without a command serves") }
            let near = nearestWord(to: word, in: ModelCommand.allCases.map(\.rawValue) + ["help"])
            throw UsageError("unknown command '\(word)'" + (near.map { "; did you mean \($0)?" } ?? ""))
        }
        let arguments = try Arguments(words, options: Options.all(gateway))
        if arguments.has("--help") {
            say(Options.usage(gateway))
        } else if arguments.has("--version") {
            say("shim \(version)")
        } else {
            try await serve(Options(arguments, gateway))
        }
    }

    /// Opens the port, loads the model if there is only one, and serves until a stop signal.
    private static func serve(_ options: Options) async throws {
        // The reader of standard output may have exited.
        signal(SIGPIPE, SIG_IGN)
        isServing.withLock { $0 = true }
        let access = options.access
        let signals = StopSignals(stopsOnHangup: !options.gateway.hasClients)
        let models = try ModelStore(options)
        let upstream = try options.upstream.map { try Upstream($0, timeLimit: options.requestTimeout) }
        for warning in options.upstream?.warnings ?? [] { complain("warning: \(warning)") }
        let gateway = try options.gateway.start()
        let services = Services(
            models: models, requestTimeout: options.requestTimeout, upstream: upstream,
            guardrail: options.guardrail,
            imageFetcher: options.allowsImageURLs ? ImageFetcher() : nil,
            refusesHostedTools: options.refusesHostedTools, readsBareCalls: options.readsBareCalls,
            responses: try ResponseStore(file: options.stateFile),
            conversations: try ConversationStore(file: options.stateFile.map { $0 + ".conversations" }))
        for warning in access.warnings + options.gateway.warnings { complain("warning: \(warning)") }
        let hangup = gateway.hangup.map { HangupSignal($0) }
        let log = RequestLog(form: isatty(STDERR_FILENO) == 1 ? .text : .json)
        let door = FrontDoor(
            keys: access.keys, authenticator: gateway.authenticator, routes: gateway.routes, origins: access.origins,
            logsPrompts: access.logsPrompts,
            limiter: access.rateLimit.map { RateLimiter(perMinute: $0) }, seesImages: services.seesImages,
            next: { try await runHandler($0, services) })
        let tls = try access.tlsIdentity()
        var configuration = Server.Configuration(
            host: options.host, port: options.port, tls: tls, errorResponse: errorResponse,
            makeNotes: { RequestTrace() }, log: log.write)
        configuration.limits.reservedPaths = ["/health", "/ready"]
        let files = ThisProcess.openFiles
        if configuration.limits.fit(openFiles: files.limit - files.count) {
            complain(
                """
                warning: at most \(configuration.limits.connections) connections at a time, since the limit of open files is \
                \(files.limit) (ulimit -n)
                """)
        }
        configuration.limits.bodyBytes = gateway.routes().bodyLimit(seesImages: services.seesImages)
        configuration.proxies = access.proxies
        let server = try await Server.start(configuration, handler: door.respond)
        let addresses = server.addresses.map { "\(tls == nil ? "http" : "https")://\($0)" }
        say("Listening on \(addresses.joined(separator: " and "))")
        if let address = addresses.first { say("Page     \(address)/") }

        try await withThrowingTaskGroup(of: Bool.self) { group in
            // Whether the server stops.
            group.addTask {
                if let only = models.only {
                    _ = try await models.lease(for: only.file.id, patience: nil)
                    for request in Demonstration.all {
                        say(request.line(address: addresses.first ?? "", model: only.file.id))
                    }
                } else {
                    say("Models   \(models.models.map(\.file.id).joined(separator: ", "))")
                }
                return false
            }
            group.addTask {
                await signals.wait()
                return true
            }
            defer { group.cancelAll() }
            while try await group.next() == false {}
        }
        complain("stopping; signal again to stop at once")
        await server.stop(within: access.drain)
        withExtendedLifetime((signals, hangup)) {}
    }

    /// Flushes the output and ends the process.
    private static func end(_ code: Int32) -> Never {
        LogWriter.standardOutput.flush()
        LogWriter.standardError.flush()
        exit(code)
    }

    static func say(_ text: String) { write(text + "\n", to: .output) }

    package static func complain(_ text: String) { write("shim: \(text)".fittedToStandardError + "\n", to: .error) }

    /// Whether lines go to `LogWriter`, which never blocks but may drop them.
    private static let isServing = Mutex(false)

    /// Removes control characters: names from files could otherwise control the terminal.
    private static func write(_ text: String, to stream: StandardStream) {
        var scalars = String.UnicodeScalarView()
        scalars.append(
            contentsOf: text.unicodeScalars.filter { $0.properties.generalCategory != .control || $0 == "\n" })
        let text = String(scalars)
        guard isServing.withLock({ $0 }) else { return _ = stream.write(text) }
        (stream == .output ? LogWriter.standardOutput : .standardError).write(Array(text.utf8))
    }
}
