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

    /// `nil` at the end of the input.
    func readMessage() -> String? {
        if isInput { Self.prompt() }
        guard let line = readLine() else {
            if isInput { write("\n") }
            return nil
        }
        interrupts.reset()
        return line
    }

    static func prompt() { FileHandle.standardOutput.write(Data("> ".utf8)) }

    /// A terminal gets no control characters but newlines and tabs: a model must not move the cursor or worse.
    func write(_ text: String) {
        var scalars = String.UnicodeScalarView()
        scalars.append(
            contentsOf: text.unicodeScalars.filter {
                !isOutput || $0.properties.generalCategory != .control || $0 == "\n" || $0 == "\t"
            })
        FileHandle.standardOutput.write(Data(String(scalars).utf8))
    }

    /// Something that whoever types should know; not part of the answer.
    func note(_ text: String) { FileHandle.standardError.write(Data("\(dim(text, STDERR_FILENO))\n".utf8)) }

    /// Like `note`, but only a terminal gets it.
    func status(_ text: String) { if isOutput { note(text) } }

    private func dim(_ text: String, _ descriptor: Int32) -> String {
        isatty(descriptor) == 1 ? "\u{1B}[2m\(text)\u{1B}[0m" : text
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
            FileHandle.standardOutput.write(Data("\n".utf8))
            exit(0)
        }
        FileHandle.standardError.write(Data("\n(Ctrl-C again or Ctrl-D ends)\n".utf8))
        Terminal.prompt()
    }
}
