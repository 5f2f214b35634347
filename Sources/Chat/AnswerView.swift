import CEdit
import Foundation

/// Shows a streamed answer with word wrap. On a terminal, a status line shows a spinner or the latest reasoning until
/// the answer begins; the reasoning is then folded into one line.
@MainActor
final class AnswerView {
    private let terminal: Terminal
    private let hidesThoughts: Bool
    private let isConversation: Bool
    private let status: @MainActor () -> String
    private var wrap: WordWrap?
    private var waiting: Spinner?
    /// All reasoning so far, and the start of the part that is not folded yet.
    private var thoughts = ""
    private var thinkingSince: ContinuousClock.Instant?
    /// Bytes of the answer passed to `update`.
    private(set) var shown = 0

    /// - Parameters:
    ///   - isConversation: Whether the user can type commands after the answer.
    ///   - status: Text of the status line, for instance loading progress.
    init(
        _ terminal: Terminal, hidesThoughts: Bool, isConversation: Bool, status: @escaping @MainActor () -> String
    ) {
        (self.terminal, self.hidesThoughts, self.isConversation) = (terminal, hidesThoughts, isConversation)
        self.status = status
        wrap = terminal.width.map { WordWrap(width: $0) }
        wait()
    }

    /// - Parameter thoughts: All reasoning so far.
    func think(_ thoughts: String) {
        guard thoughts.utf8.count > self.thoughts.utf8.count, !hidesThoughts else { return }
        self.thoughts = thoughts
        if thinkingSince == nil { thinkingSince = .now }
    }

    /// - Parameter answer: The whole answer so far.
    func update(_ answer: String) async {
        let more = String(decoding: answer.utf8.dropFirst(shown), as: UTF8.self)
        guard !more.isEmpty else { return }
        await stopWaiting()
        shown = answer.utf8.count
        terminal.write(wrap?.add(more) ?? more)
    }

    /// Ends the answer.
    func finish() async {
        await stopWaiting()
        if let rest = wrap?.finish() { terminal.write(rest) }
    }

    /// Ends the line, so that other output can follow.
    func pause() async {
        let hasText = waiting == nil
        await finish()
        if hasText { terminal.write("\n") }
        wrap = terminal.width.map { WordWrap(width: $0) }
    }

    /// Resumes after `pause`.
    func goOn() { wait() }

    private func wait() {
        guard terminal.isOutput, waiting == nil else { return }
        waiting = Spinner(terminal) { [weak self] in self?.waitingText }
    }

    /// The status, or the end of the reasoning that fits on one line.
    private var waitingText: String {
        guard thinkingSince != nil else { return status() }
        var room = (terminal.width ?? 60) - 4
        let line = thoughts.suffix(500).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let end = line.withoutControlCharacters.reversed().prefix { character in
            room -= character.unicodeScalars.reduce(0) { $0 + max(0, Int(edit_columns($1.value))) }
            return room >= 0
        }
        return String(end.reversed())
    }

    private func stopWaiting() async {
        guard let waiting else { return }
        self.waiting = nil
        await waiting.stop()
        guard let since = thinkingSince else { return }
        thinkingSince = nil
        let seconds = String(format: "%.1f", since.duration(to: .now) / .seconds(1))
        let hint = isConversation ? " · /thoughts shows it" : ""
        terminal.writeAsIs(terminal.dimmed("▸ thought for \(seconds) s\(hint)") + "\n")
    }
}

/// Wraps streamed text between words. Fenced code is not wrapped.
struct WordWrap {
    private static let fence = "```"

    private let width: Int
    /// Columns used in the current line.
    private var column = 0
    /// The current word, held back until it ends.
    private var word = String.UnicodeScalarView()
    private var wordWidth = 0
    /// Whether the start of the word was already written because it is longer than a line.
    private var isContinued = false
    /// The first characters of the line, to detect a fence.
    private var beginning = ""
    private var isCode = false

    /// - Parameter width: Columns per line.
    init(width: Int) { self.width = width }

    /// - Returns: The text that can be shown now.
    mutating func add(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars { add(scalar, to: &shown) }
        return shown
    }

    mutating func finish() -> String {
        var shown = ""
        endWord(&shown)
        return shown
    }

    private mutating func add(_ scalar: Unicode.Scalar, to shown: inout String) {
        if scalar == "\n" {
            endWord(&shown)
            shown.unicodeScalars.append(scalar)
            (column, beginning, isContinued) = (0, "", false)
            return
        }
        if beginning.unicodeScalars.count < Self.fence.count {
            beginning.unicodeScalars.append(scalar)
            if beginning == Self.fence { isCode.toggle() }
        }
        guard scalar != " ", scalar != "\t" else {
            endWord(&shown)
            if isCode || column < width { shown.unicodeScalars.append(scalar) }
            column += 1
            isContinued = false
            return
        }
        let columns = max(0, Int(edit_columns(scalar.value)))
        word.append(scalar)
        wordWidth += columns
        // Wide characters belong to scripts without spaces: lines may break between them.
        if columns == 2 {
            endWord(&shown)
        } else if wordWidth >= width {
            endWord(&shown)
            isContinued = true
        }
    }

    private mutating func endWord(_ shown: inout String) {
        if !isCode, !isContinued, column > 0, column + wordWidth > width {
            shown += "\n"
            column = 0
        }
        shown.unicodeScalars.append(contentsOf: word)
        column += wordWidth
        word = .init()
        wordWidth = 0
    }
}
