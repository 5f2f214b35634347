import Foundation
import Synchronization

/// Where the conversation is typed and shown; a pipe works as well, and then gets answers only.
struct Terminal {
    let interrupts = Interrupts()
    let isInput = isatty(STDIN_FILENO) == 1
    let isOutput = isatty(STDOUT_FILENO) == 1
    private let input = TypedInput()

    init() { if isInput { interrupts.start() } }

    /// Lets lines be edited, where they are typed.
    ///
    /// - Parameter file: Keeps the lines for the next start; `nil` keeps them until the program ends.
    func startEditing(linesIn file: String?) {
        if isInput { input.startEditing(showsOnOutput: isOutput, linesIn: file) }
    }

    /// The next message: a line, a paste, or the lines between two `"""`. Whoever waits holds up nothing else.
    ///
    /// - Returns: `nil` at the end of the input, or at the second Ctrl-C in a row.
    func readMessage() async -> String? {
        var isWarned = false
        while true {
            switch await message(notice: isWarned ? "(Ctrl-C again or Ctrl-D ends)" : nil) {
            case .text(let text):
                input.remember(text)
                return text
            case .interrupted(let wasEmpty):
                write("\n")
                if wasEmpty, isWarned { return nil }
                isWarned = wasEmpty
            case .end:
                if isInput { write("\n") }
                return nil
            }
        }
    }

    enum Consent { case yes, no, interrupted }

    /// Asks a question; anything but a yes is a no.
    func ask(_ question: String) async -> Consent {
        switch await input.line(prompt: question, notice: nil) {
        case .text(let text):
            ["y", "yes"].contains(text.trimmingCharacters(in: .whitespaces).lowercased()) ? .yes : .no
        case .interrupted: .interrupted
        case .end: .no
        }
    }

    private static let quotes = "\"\"\""

    private func message(notice: String?) async -> LineEditor.Line {
        let line = await input.line(prompt: isInput ? "> " : "", notice: notice)
        guard case .text(let first) = line, first.hasPrefix(Self.quotes) else { return line }
        var text = String(first.dropFirst(Self.quotes.count))
        while !text.hasSuffix(Self.quotes) {
            switch await input.line(prompt: isInput ? ". " : "", notice: nil) {
            case .text(let next): text += "\n" + next
            case .interrupted: return .interrupted(wasEmpty: false)
            case .end: return .text(text)
            }
        }
        return .text(String(text.dropLast(Self.quotes.count)).trimmingCharacters(in: .newlines))
    }

    func write(_ text: String) { writeAsIs(isOutput ? text.withoutControlCharacters : text) }

    /// Also what steers the terminal.
    func writeAsIs(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

    /// Something that whoever types should know; not part of the answer.
    func note(_ text: String) { tell("\(text)", dim: true) }

    /// What went wrong.
    func complain(_ text: String) { tell("chat: \(text)", dim: false) }

    /// Like `note`, but only a terminal gets it.
    func status(_ text: String) { if isOutput { note(text) } }

    /// Columns of a line on the screen; `nil` where nothing is shown, or nobody knows.
    var width: Int? {
        var size = winsize()
        guard isOutput, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    private func tell(_ text: String, dim: Bool) {
        let isTerminal = isatty(STDERR_FILENO) == 1
        let shown = isTerminal ? text.withoutControlCharacters : text
        FileHandle.standardError.write(Data((dim && isTerminal ? "\u{1B}[2m\(shown)\u{1B}[0m\n" : shown + "\n").utf8))
    }
}

/// The lines of the standard input, edited where they are typed.
private final class TypedInput: Sendable {
    private let editor = Mutex<LineEditor?>(nil)

    func startEditing(showsOnOutput: Bool, linesIn file: String?) {
        editor.withLock { $0 = LineEditor(showsOnOutput: showsOnOutput, file: file) }
    }

    func line(prompt: String, notice: String?) async -> LineEditor.Line {
        await withCheckedContinuation { line in
            DispatchQueue.global().async { line.resume(returning: self.read(prompt, notice)) }
        }
    }

    func remember(_ text: String) { editor.withLock { $0?.remember(text) } }

    private func read(_ prompt: String, _ notice: String?) -> LineEditor.Line {
        if let line = editor.withLock({ $0?.read(prompt: prompt, notice: notice) }) { return line }
        FileHandle.standardOutput.write(Data(prompt.utf8))
        return readLine().map { .text($0) } ?? .end
    }
}

extension String {
    /// Newlines and tabs stay. What a model says, or an error quotes, must not move the cursor or worse.
    var withoutControlCharacters: String {
        var scalars = UnicodeScalarView()
        scalars.append(
            contentsOf: unicodeScalars.filter {
                $0.properties.generalCategory != .control || $0 == "\n" || $0 == "\t"
            })
        return String(scalars)
    }
}

/// Ctrl-C while an answer is written: ends the answer. While a line is typed it is the editor's.
final class Interrupts: Sendable {
    private struct State {
        var action: (@Sendable () -> Void)?
        var source: (any DispatchSourceSignal)?
    }

    private let state = Mutex(State())

    func start() {
        signal(SIGINT, SIG_IGN)
        state.withLock { state in
            let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
            source.setEventHandler { [weak self] in self?.state.withLock { $0.action }?() }
            source.resume()
            state.source = source
        }
    }

    func onInterrupt(_ action: (@Sendable () -> Void)?) { state.withLock { $0.action = action } }
}
