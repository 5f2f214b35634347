import Client
import CommandLineParsing
import Foundation
import LocalLLM

/// What `/decide` asks: a statement that may be true, or a question with options, about the conversation or a file's text.
struct DecisionLine: Equatable {
    /// The file whose text is asked about; `nil`: the conversation.
    var file: String?
    /// The statement or the question.
    var question: String
    /// Empty: the question is a statement.
    var options: [String] = []

    /// - Parameter text: `[@FILE] QUESTION [| OPTION | OPTION…]`; a file's name with spaces has quotes.
    init(_ text: String) throws(UsageError) {
        var rest = text[...]
        if rest.first == "@" {
            rest = rest.dropFirst()
            let quote = rest.first.flatMap { "\"'".contains($0) ? $0 : nil }
            let name = quote.map { quote in rest.dropFirst().prefix { $0 != quote } } ?? rest.prefix { $0 != " " }
            file = (String(name) as NSString).expandingTildeInPath
            rest = rest[name.endIndex...].dropFirst(quote == nil ? 0 : 1)
        }
        var parts = rest.split(separator: "|", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        question = parts.removeFirst()
        options = parts
        guard !question.isEmpty else {
            throw UsageError("/decide: expected a question, as in /decide Is it urgent? | yes | no")
        }
        guard options.count != 1, !options.contains("") else {
            throw UsageError(
                "/decide: expected at least two options with a text, or none for a statement, found '\(text)'")
        }
    }

    var decision: DecisionQuestion {
        options.isEmpty ? .predicate(question) : .choice(question, of: options.map { .init($0) })
    }

    /// Each answer with its probability, on a line of its own.
    func table(_ answer: DecisionAnswer) -> String? {
        let rows: [(String, Double)]
        switch answer {
        case .refusal: return nil
        case .predicate(let probability): rows = [("true", probability), ("false", 1 - probability)]
        case .choice(_, let probabilities), .score(_, let probabilities): rows = Array(zip(options, probabilities))
        }
        return rows.map { String(format: "%6.1f %%  ", 100 * $0.1) + $0.0 + "\n" }.joined()
    }
}

extension Session {
    /// Prints the probabilities of the answers to a question.
    func decide(_ text: String) async throws {
        let line = try DecisionLine(text)
        let messages: [ChatMessage]
        if let file = line.file {
            guard let contents = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw UsageError("/decide: \(file) cannot be read as text")
            }
            messages = [.user(contents.filter { $0 != ChatMessage.imagePlaceholder })]
        } else {
            messages = chat.messages.turns
            guard !messages.isEmpty else {
                throw UsageError("/decide: there is no conversation yet; /decide @FILE QUESTION asks about a text")
            }
        }
        let system = line.file == nil ? engines.settings.system.map { [ChatMessage.system($0)] } ?? [] : []
        let engines = engines
        let work = Task { try await engines.decide(line.decision, about: system + messages) }
        terminal.interrupts.onInterrupt { work.cancel() }
        let spinner = Spinner(terminal) { [chat] in chat.statusMessage.contains("load") ? chat.statusMessage : "…" }
        let answer = await work.result
        await spinner.stop()
        terminal.interrupts.onInterrupt(nil)
        if case .failure(is CancellationError) = answer { return terminal.status("interrupted") }
        guard let table = line.table(try answer.get()) else {
            return fail("/decide: the question is blocked (--blocked-words)")
        }
        terminal.write(table)
    }
}
