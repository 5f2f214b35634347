import Client
import CommandLineParsing
import Foundation
import FoundationModels
import LocalLLM

extension ScriptCommand {
    static let tokenCount = ScriptCommand(
        name: "token-count", summary: "count the tokens of a text as the local model reads it",
        synopsis: "[OPTION…] [TEXT] [< FILE]",
        details: """
            Writes the number of tokens of the text (the argument, followed by standard input if that is no terminal) and of the
            instructions. Loads the model.
            """,
        ownOptions: [
            .instructions, .promptImage,
            Option(
                "--template",
                help: "counts the whole prompt as chat respond would send it, with what the chat template adds"),
            .blockedWords,
        ]
    ) { arguments, terminal in
        let engines = try await Engines(arguments, terminal, asks: false)
        guard let model = engines.model else { throw UsageError("needs a local model (--model)") }
        let text = try message(arguments, terminal, for: engines)
        let usesTemplate = arguments.has("--template")
        let spinner = Spinner(terminal, on: .error) { model.status.statusMessage }
        let counting = await Task { try await count(text, engines.settings.system, usesTemplate, model) }.result
        await spinner.stop()
        terminal.write("\(try counting.get())\n")
        return true
    }

    private static func count(
        _ message: ChatMessage, _ instructions: String?, _ usesTemplate: Bool, _ model: SystemLanguageModel
    ) async throws -> Int {
        guard usesTemplate else {
            var count = try await model.tokenCount(for: message.prompt)
            if let instructions { count += try await model.tokenCount(for: Instructions(instructions)) }
            return count
        }
        let told = instructions.map { [ChatMessage.system($0)] } ?? []
        return try await model.tokenCount(for: (told + [message]).map(\.entry))
    }
}
