import Client
import CommandLineParsing
import Foundation
import Synchronization

/// Standard input and output of the chat. Piped output gets answers only.
struct Terminal {
    let interrupts = Interrupts()
    let isInput = isatty(STDIN_FILENO) == 1
    let isOutput = isatty(STDOUT_FILENO) == 1
    /// Whether the terminal understands escape sequences.
    let hasEscapes: Bool
    /// Whether text may be dimmed: not if the user asks for plain text by https://no-color.org.
    private let isStyled: Bool
    private let input = TypedInput()
    private let echo = Echo()

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        hasEscapes = !["", "dumb"].contains(environment["TERM"] ?? "")
        isStyled = hasEscapes && environment["NO_COLOR", default: ""].isEmpty
        if isInput { interrupts.start() }
    }

    /// Enables line editing if the input is a terminal.
    ///
    /// - Parameter file: File that keeps the lines across runs; `nil`: in memory only.
    func startEditing(linesIn file: String?) {
        if isInput { input.startEditing(on: self, linesIn: file) }
    }

    /// Reads the next message: a line, a paste, or the lines between two `"""`. Does not block a thread of the shared
    /// pool.
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

    /// Asks a yes-no question; any answer other than yes means no.
    func ask(_ question: String) async -> Consent {
        let wasHidden = echo.show()
        defer { if wasHidden { echo.hide() } }
        return switch await input.line(prompt: question, notice: nil) {
        case .text(let text):
            ["y", "yes"].contains(text.trimmingCharacters(in: .whitespaces).lowercased()) ? .yes : .no
        case .interrupted: .interrupted
        case .end: .no
        }
    }

    /// Asks for a line, before there is anything that Ctrl-C could interrupt but the program.
    ///
    /// - Returns: `nil` at the end of the input.
    func line(_ prompt: String) async -> String? {
        interrupts.onInterrupt { exit(130) }
        defer { interrupts.onInterrupt(nil) }
        guard case .text(let text) = await input.line(prompt: prompt, notice: nil) else { return nil }
        return text.trimmingCharacters(in: .whitespaces)
    }

    /// Larger than any context.
    private static let mostPipedBytes = 16 << 20

    /// The whole input; empty if it is a terminal.
    func pipedText() throws(UsageError) -> String {
        guard !isInput else { return "" }
        let data = FileHandle.standardInput.readData(ofLength: Self.mostPipedBytes + 1)
        guard data.count <= Self.mostPipedBytes else {
            throw UsageError("the input has over \(Self.mostPipedBytes) bytes")
        }
        guard let text = String(data: data, encoding: .utf8) else { throw UsageError("the input is not UTF-8") }
        return text
    }

    /// Hides what is typed, such as the `^C` of an interruption, until `showTyping`. It is read after that.
    func hideTyping() { if isInput { echo.hide() } }

    func showTyping() { _ = echo.show() }

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

    /// Writes text with its lines broken between words.
    func writeWrapped(_ text: String) { write(wrapped(text)) }

    private func wrapped(_ text: String) -> String {
        guard var wrap = width.map({ WordWrap(width: $0) }) else { return text }
        return wrap.add(text) + wrap.finish()
    }

    func write(_ text: String) { writeAsIs(isOutput ? text.withoutControlCharacters : text) }

    /// Text that is less conspicuous, where the terminal can show it so.
    func dimmed(_ text: String) -> String { isStyled ? "\u{1B}[2m\(text)\u{1B}[0m" : text }

    /// Writes text including control sequences.
    func writeAsIs(_ text: String) { writeToStandardOutput(text) }

    /// Shows a note on standard error.
    func note(_ text: String) { tell(text, dim: true) }

    /// Shows an error on standard error.
    func complain(_ text: String) { tell("chat: \(text)", dim: false) }

    /// Shows why engines did not answer.
    func note(_ passedOver: [PassedOver], of engines: Engines) {
        for passed in passedOver where engines.has(passed.engine) {
            note("Not answered by the \(passed.engine) engine: \(passed.reason)")
        }
    }

    /// Like `note`, but only if standard output is a terminal.
    func status(_ text: String) { if isOutput { note(text) } }

    /// Columns of the terminal; `nil` if output is not a terminal or the width is unknown.
    var width: Int? { isOutput ? terminalWidth(.output) : nil }

    private func tell(_ text: String, dim: Bool) {
        let isTerminal = isatty(STDERR_FILENO) == 1
        let shown = isTerminal ? wrapped(text.withoutControlCharacters) : text
        StandardStream.error.write((dim && isTerminal ? dimmed(shown) : shown) + "\n")
    }
}

/// Ends the program if standard output is closed, as in `chat … | head`.
func writeToStandardOutput(_ text: String) {
    guard StandardStream.output.write(text) else { exit(EXIT_FAILURE) }
}

/// Reads lines of standard input, with editing if enabled.
private final class TypedInput: Sendable {
    private let editor = Mutex<LineEditor?>(nil)

    func startEditing(on terminal: Terminal, linesIn file: String?) {
        editor.withLock { $0 = LineEditor(on: terminal, file: file) }
    }

    func line(prompt: String, notice: String?) async -> LineEditor.Line {
        await withCheckedContinuation { line in
            DispatchQueue.global().async { line.resume(returning: self.read(prompt, notice)) }
        }
    }

    func remember(_ text: String) { editor.withLock { $0?.remember(text) } }

    private func read(_ prompt: String, _ notice: String?) -> LineEditor.Line {
        if let line = editor.withLock({ $0?.read(prompt: prompt, notice: notice) }) { return line }
        writeToStandardOutput(prompt)
        return readLine().map { .text($0) } ?? .end
    }
}

extension String {
    /// Removes control characters except newlines and tabs, so that output of models and errors cannot control the
    /// terminal.
    var withoutControlCharacters: String {
        var scalars = UnicodeScalarView()
        scalars.append(
            contentsOf: unicodeScalars.filter {
                $0.properties.generalCategory != .control || $0 == "\n" || $0 == "\t"
            })
        return String(scalars)
    }
}

/// Handles Ctrl-C during an answer, which it cancels. During input the line editor handles it.
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

/// Whether the terminal shows what is typed.
private final class Echo: Sendable {
    private let before = Mutex<termios?>(nil)

    func hide() {
        before.withLock { before in
            var settings = termios()
            guard before == nil, tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
            before = settings
            settings.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        }
    }

    /// - Returns: Whether it was hidden.
    func show() -> Bool {
        before.withLock { before in
            guard var settings = before else { return false }
            tcsetattr(STDIN_FILENO, TCSANOW, &settings)
            before = nil
            return true
        }
    }
}
