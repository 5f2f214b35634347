import Client
import CommandLineParsing
import Foundation
import FoundationModels
import LocalLLM

extension ScriptCommand {
    static let respond = ScriptCommand(
        name: "respond", summary: "answer one prompt, as text or as JSON of a schema",
        synopsis: "[OPTION…] [PROMPT] [< FILE]",
        details: """
            Writes the answer to standard output and nothing else. The prompt is the argument, followed by standard input if that
            is no terminal. Without --stream a failure leaves standard output empty. Exits with 1 if there is no whole answer.
            """,
        ownOptions: [
            .instructions, .promptImage,
            Option(
                "--schema", value: "FILE",
                help:
                    "answers with JSON that follows this JSON Schema, as one line; - reads it from standard input, and what begins with { is the schema itself"
            ),
            Option(
                "--stream",
                help: "writes text while it is generated; the default on a terminal. JSON is always written as a whole"),
            Option("--no-stream", help: "writes the whole answer at its end; the default for files and pipes"),
            .blockedWords,
        ]
    ) { arguments, terminal in
        guard !arguments.has("--stream") || !arguments.has("--no-stream") else {
            throw UsageError("--stream and --no-stream exclude each other")
        }
        let policy = try arguments.choice("--policy", of: FallbackPolicy.self) ?? .localFirst
        let schema = try arguments.string("--schema").map { try readSchema($0, terminal) }
        let engines = try await Engines(arguments, terminal, asks: false)
        let prompt = try message(arguments, terminal, for: engines)
        let local = engines.makeLocal()
        let engine = try schema.map { try engines.makeEngine($0) } ?? engines.makeEngine(local)
        let streams = arguments.has("--stream") || terminal.isOutput && !arguments.has("--no-stream")
        let spinner = Spinner(terminal, on: .error) { local.statusMessage.contains("load") ? local.statusMessage : "…" }
        var answer = ""
        do {
            for try await event in engine.answer([prompt], policy: policy) {
                switch event {
                case .began(_, let passedOver):
                    guard !passedOver.isEmpty else { continue }
                    await spinner.stop()
                    terminal.note(passedOver, of: engines)
                case .text(let more) where streams:
                    await spinner.stop()
                    answer += more
                    terminal.write(more)
                case .text(let more): answer += more
                case .thought, .toolCalls, .finished: break
                }
            }
        } catch {
            await spinner.stop()
            if streams, !answer.isEmpty { terminal.write("\n") }
            throw error
        }
        await spinner.stop()
        terminal.write(streams ? "\n" : answer + "\n")
        return true
    }

    /// Larger than any schema.
    private static let mostSchemaBytes = 16 << 20

    private static func readSchema(_ path: String, _ terminal: Terminal) throws -> GenerationSchema {
        let text: String
        if path.first == "{" {
            text = path
        } else if path == "-" {
            text = try terminal.pipedText()
        } else {
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw UsageError("--schema: No such file: \(path)")
            }
            let data = try file.read(upToCount: mostSchemaBytes + 1) ?? Data()
            guard data.count <= mostSchemaBytes, let contents = String(data: data, encoding: .utf8) else {
                throw UsageError("--schema \(path): expected at most \(mostSchemaBytes) bytes of UTF-8")
            }
            text = contents
        }
        do {
            return try GenerationSchema(jsonSchema: text)
        } catch {
            throw UsageError("--schema: expected JSON Schema, found other text: \(Self.text(error))")
        }
    }
}
