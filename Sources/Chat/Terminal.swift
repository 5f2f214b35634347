import CommandLineParsing
import Foundation
import Synchronization

/// Where the conversation is typed and shown; a pipe works as well, and then gets answers only.
struct Terminal {
    let interrupts: Interrupts
    private let isInput = isatty(STDIN_FILENO) == 1
    private let isOutput = isatty(STDOUT_FILENO) == 1

    init() {
        interrupts = Interrupts()
        if isInput { interrupts.start() }
    }

    /// `nil` at the end of the input. Whoever waits holds up nothing else.
    func readMessage() async -> String? {
        if isInput { Self.prompt() }
        guard let line = await Self.line() else {
            if isInput { write("\n") }
            return nil
        }
        interrupts.reset()
        return line
    }

    private nonisolated static func line() async -> String? {
        await withCheckedContinuation { line in
            DispatchQueue.global().async { line.resume(returning: readLine()) }
        }
    }

    static func prompt() { StandardStream.output.write("> ") }

    func write(_ text: String) {
        StandardStream.output.write((isOutput ? text.withoutControlCharacters : text))
    }

    /// Something that whoever types should know; not part of the answer.
    func note(_ text: String) { tell("\(text)", dim: true) }

    /// What went wrong.
    func complain(_ text: String) { tell("chat: \(text)", dim: false) }

    /// Like `note`, but only a terminal gets it.
    func status(_ text: String) { if isOutput { note(text) } }

    private func tell(_ text: String, dim: Bool) {
        let isTerminal = isatty(STDERR_FILENO) == 1
        let shown = isTerminal ? text.withoutControlCharacters : text
        StandardStream.error.write((dim && isTerminal ? "\u{1B}[2m\(shown)\u{1B}[0m\n" : shown + "\n"))
    }
}

extension String {
    /// Newlines and tabs stay. What a model says, or an error quotes, must not move the cursor or worse.
    fileprivate var withoutControlCharacters: String {
        var scalars = UnicodeScalarView()
        scalars.append(
            contentsOf: unicodeScalars.filter {
                $0.properties.generalCategory != .control || $0 == "\n" || $0 == "\t"
            })
        return String(scalars)
    }
}

/// Ctrl-C: ends the answer that is being written; at the prompt, the second in a row ends the program.
final class Interrupts: Sendable {
    private struct State {
        var action: (@Sendable () -> Void)?
        var isWarned = false
        var source: (any DispatchSourceSignal)?
    }

    private let state = Mutex(State())

    func start() {
        signal(SIGINT, SIG_IGN)
        state.withLock { state in
            let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
            source.setEventHandler { [weak self] in self?.handle() }
            source.resume()
            state.source = source
        }
    }

    func onInterrupt(_ action: (@Sendable () -> Void)?) { state.withLock { $0.action = action } }

    func reset() { state.withLock { $0.isWarned = false } }

    private func handle() {
        let (action, wasWarned) = state.withLock { state in
            defer { if state.action == nil { state.isWarned = true } }
            return (state.action, state.isWarned)
        }
        if let action { return action() }
        if wasWarned {
            StandardStream.output.write("\n")
            exit(0)
        }
        StandardStream.error.write("\n(Ctrl-C again or Ctrl-D ends)\n")
        Terminal.prompt()
    }
}
