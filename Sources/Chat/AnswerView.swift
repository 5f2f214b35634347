import CEdit
import Foundation

/// Shows an answer as it comes: on a terminal a sign of life until its first word, and words that no line's end breaks.
@MainActor
final class AnswerView {
    private static let frames = Array("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

    private let terminal: Terminal
    private var wrap: WordWrap?
    private var waiting: Task<Void, Never>?
    /// Bytes of the answer that were taken up.
    private(set) var shown = 0

    /// - Parameter status: What the wait is for, for instance how far a model is loaded.
    init(_ terminal: Terminal, status: @escaping @MainActor () -> String) {
        self.terminal = terminal
        wrap = terminal.width.map { WordWrap(width: $0) }
        guard terminal.isOutput else { return }
        waiting = Task { [terminal] in
            var count = 0
            while (try? await Task.sleep(for: .milliseconds(120))) != nil {
                let frame = Self.frames[count % Self.frames.count]
                terminal.writeAsIs("\r\u{1B}[K\u{1B}[2m\(frame) \(status().withoutControlCharacters)\u{1B}[0m")
                count += 1
            }
            if count > 0 { terminal.writeAsIs("\r\u{1B}[K") }
        }
    }

    /// - Parameter answer: All of it so far.
    func update(_ answer: String) async {
        let more = String(decoding: answer.utf8.dropFirst(shown), as: UTF8.self)
        guard !more.isEmpty else { return }
        await stopWaiting()
        shown = answer.utf8.count
        terminal.write(wrap?.add(more) ?? more)
    }

    /// No more comes.
    func finish() async {
        await stopWaiting()
        if let rest = wrap?.finish() { terminal.write(rest) }
    }

    private func stopWaiting() async {
        guard let waiting else { return }
        self.waiting = nil
        waiting.cancel()
        await waiting.value
    }
}

/// Breaks lines between words, for text that comes in pieces. What stands in a fence of code is left as it is.
struct WordWrap {
    private static let fence = "```"

    private let width: Int
    /// Columns of the line that are used.
    private var column = 0
    /// What is held back until its end is known.
    private var word = String.UnicodeScalarView()
    private var wordWidth = 0
    /// Whether the beginning of the word, which is longer than a line, is shown already.
    private var isContinued = false
    /// How the line begins, as far as a fence is long.
    private var beginning = ""
    private var isCode = false

    /// - Parameter width: Columns of a line.
    init(width: Int) { self.width = width }

    /// - Returns: What may be shown now.
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
        // Scripts without spaces are written in wide characters, between which a line may end.
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
