import CommandLineParsing
import Foundation
import LocalLLM

/// The conversation and its commands.
struct Session {
    private let model: LocalModel
    private let options: SamplingOptions
    private let terminal = Terminal()
    private var system: String?
    /// Alternating: what the user said, what the model answered.
    private var turns: [ChatMessage] = []
    private var allAnswered = true

    init(_ arguments: Arguments) async throws {
        let path = try arguments.required("--model")
        system = arguments.string("--system")
        options = SamplingOptions(
            temperature: try arguments.double("--temperature"), seed: try arguments.int("--seed").map { UInt64($0) },
            maximumTokens: try arguments.int("--max-tokens", in: 1...Int.max))
        let configuration = LocalModel.Configuration(
            contextSize: try arguments.int("--context", in: 1...1 << 30),
            threads: try arguments.int("--threads", in: 1...1024))
        model = try await .load(from: URL(fileURLWithPath: path), configuration: configuration)
    }

    /// - Returns: Whether every message was answered.
    mutating func run() async -> Bool {
        terminal.status(
            "\(model.info.name), context \(model.contextSize), \(model.threads) threads. /help lists commands.")
        while let line = terminal.readMessage() {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.isEmpty { continue }
            if text == "/quit" { break }
            if text.utf8.starts(with: "/".utf8) { command(text) } else { await answer(line) }
        }
        return allAnswered
    }

    private mutating func command(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1)
        let argument = words.count > 1 ? String(words[1]) : nil
        switch words[0] {
        case "/clear":
            turns = []
            terminal.note("The conversation starts again.")
        case "/system":
            if let argument { system = argument == "-" ? nil : argument }
            terminal.note("System message: \(system ?? "none")")
        case "/help":
            terminal.note(
                "/clear forgets the conversation, /system TEXT sets the system message (- removes it), /quit ends.")
        default:
            fail("there is no command \(words[0]); /help lists them")
        }
    }

    private mutating func answer(_ text: String) async {
        turns.append(.user(text))
        var answer = ""
        do {
            let generation = model.generate(tokens: try promptTokens(), options: options)
            terminal.interrupts.onInterrupt { generation.cancel() }
            defer { terminal.interrupts.onInterrupt(nil) }
            var finish: GenerationPiece.Finish?
            for try await piece in generation {
                answer += piece.text
                terminal.write(piece.text)
                finish = piece.finish
            }
            terminal.write("\n")
            // An answer that was interrupted before it began leaves nothing to go on from.
            if finish == nil, answer.isEmpty { turns.removeLast() } else { turns.append(.assistant(answer)) }
            status(finish)
        } catch {
            if !answer.isEmpty { terminal.write("\n") }
            turns.removeLast()
            fail("\(error)")
        }
    }

    /// The conversation as tokens. The oldest turns are dropped, whole, until a quarter of the context is left for the
    /// answer, or as much as it may have.
    private mutating func promptTokens() throws -> [Int32] {
        let reserve = min(options.maximumTokens ?? .max, model.contextSize / 4)
        var dropped = 0
        while true {
            let messages = (system.map { [.system($0)] } ?? []) + turns
            let tokens = try model.tokens(of: try model.render(messages))
            if tokens.count <= model.contextSize - reserve || turns.count == 1 {
                if dropped > 0 { terminal.note("The context is full: the oldest \(dropped) turn(s) were dropped.") }
                return tokens
            }
            turns.removeFirst(2)
            dropped += 1
        }
    }

    private func status(_ finish: GenerationPiece.Finish?) {
        guard let finish else { return terminal.note("Interrupted.") }
        let usage = finish.usage
        let used = usage.promptTokens + usage.completionTokens
        if finish.reason == .length, used >= model.contextSize {
            terminal.note("The context is full: the answer ends here.")
        }
        // The first token came with the prompt: `decodeSeconds` is for those after it.
        let speed = Double(usage.completionTokens - 1) / max(usage.decodeSeconds, 1e-9)
        terminal.status(
            "\(usage.completionTokens) tokens"
                + (usage.completionTokens > 1 ? String(format: ", %.1f tokens/s", speed) : "")
                + String(format: ", first after %.2f s", usage.secondsToFirstToken)
                + ", context \(used) of \(model.contextSize)")
    }

    private mutating func fail(_ message: String) {
        allAnswered = false
        Chat.complain(message)
    }
}
