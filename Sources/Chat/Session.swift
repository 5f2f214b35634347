import Client
import CommandLineParsing
import Foundation
import LocalLLM
import Observation

/// The terminal's view of a chat.
@MainActor
final class Session {
    let chat: ChatViewModel
    let terminal: Terminal
    private let engines: Engines
    var isEnded = false
    /// Whether the program has done all that it was told.
    private(set) var hasSucceeded = true

    init(_ arguments: Arguments, _ terminal: Terminal) async throws {
        self.terminal = terminal
        let policy = try arguments.choice("--policy", of: FallbackPolicy.self)
        engines = try Engines(arguments, log: { terminal.note($0) })
        chat = ChatViewModel(
            engine: engines.engine, local: engines.local,
            history: try await ChatRepository.open(try HistoryFile.path(arguments)))
        await chat.resume()
        // What is said now counts more than what was said then.
        await chat.setPolicy(policy ?? chat.policy)
    }

    /// - Returns: Whether every message was answered and every command carried out.
    func run() async -> Bool {
        terminal.status(statusLine + " /help lists commands.")
        if !chat.messages.isEmpty { terminal.status("The conversation goes on: \(chat.messages.count) messages.") }
        while let line = await terminal.readMessage() {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.isEmpty { continue }
            if text.utf8.first == UInt8(ascii: "/") { await Command.run(text, self) } else { await send(line) }
            if isEnded { break }
        }
        return hasSucceeded
    }

    func send(_ text: String) async {
        chat.inputText = text
        await show { [chat] in await chat.send()?.messageContent }
        if !chat.inputText.isEmpty { terminal.status("The message was not kept; /retry sends it again.") }
    }

    /// Shows an answer as it comes.
    ///
    /// - Parameter answer: Asks, and returns all of the answer.
    func show(_ answer: @escaping @MainActor () async -> String?) async {
        terminal.interrupts.onInterrupt { [chat] in Task { await chat.cancel() } }
        var shown = 0
        let view = { @MainActor [terminal] (content: String) in
            terminal.write(String(decoding: content.utf8.dropFirst(shown), as: UTF8.self))
            shown = max(shown, content.utf8.count)
        }
        let changes = Task { [chat] in
            for await content in Observations({ chat.currentStreamingContent }) { view(content) }
        }
        let answer = await answer()
        changes.cancel()
        terminal.interrupts.onInterrupt(nil)
        view(answer ?? "")
        if answer != nil || shown > 0 { terminal.write("\n") }
        if let turns = chat.usage?.omittedTurns, turns > 0 {
            terminal.note("The context is full: the oldest \(turns) turn(s) did not go along.")
        }
        for passed in chat.passedOver where engines.has(passed.engine) {
            terminal.note("Not answered by the \(passed.engine) engine: \(passed.reason)")
        }
        if let error = chat.errorMessage { fail(error) } else { terminal.status(statusLine) }
    }

    /// Has the chat do something, and tells that it is done or why not.
    func attempt(_ note: String, _ body: (ChatViewModel) async -> Void) async {
        await body(chat)
        if let error = chat.errorMessage { fail(error) } else { terminal.note(note) }
    }

    /// Who answers, at what speed, and how full the context is.
    var statusLine: String {
        var parts = ["\(chat.answeredBy.map { "\($0)" } ?? "\(chat.policy)")", chat.statusMessage]
        if let usage = chat.usage {
            let used = usage.promptTokens + usage.completionTokens
            parts.append("\(usage.completionTokens) tokens")
            if let speed = usage.tokensPerSecond { parts.append(String(format: "%.1f tokens/s", speed)) }
            parts.append("context \(used)" + (usage.contextSize.map { " of \($0)" } ?? ""))
        }
        return parts.joined(separator: " · ")
    }

    func fail(_ message: String) {
        hasSucceeded = false
        terminal.complain(message)
    }
}
