import CEdit
import Foundation

/// Line editor of the terminal, based on libedit: editing keys, history by arrows and Ctrl-R, and multi-line pastes as
/// one message.
struct LineEditor: ~Copyable {
    enum Line: Equatable {
        /// A line without its newline.
        case text(String)
        /// Ctrl-C; the typed text is dropped.
        case interrupted(wasEmpty: Bool)
        /// Ctrl-D, or the terminal was closed.
        case end
    }

    private static let keptLines: Int32 = 1000

    private let editor: OpaquePointer
    private let lines: OpaquePointer
    private let state: UnsafeMutablePointer<edit_state>
    private let file: String?
    private let terminal: Terminal

    /// - Parameters:
    ///   - terminal: If its output is not a terminal, the line is shown on standard error.
    ///   - file: File that keeps the lines across runs; `nil`: in memory only.
    /// - Returns: `nil` if libedit does not support the terminal.
    init?(on terminal: Terminal, file: String?) {
        state = .allocate(capacity: 1)
        state.initialize(to: edit_state(prompt: strdup(""), is_interrupted: 0))
        guard let editor = edit_start(terminal.isOutput ? 1 : 0, state), let lines = history_init() else {
            free(state.pointee.prompt)
            state.deallocate()
            return nil
        }
        (self.editor, self.lines, self.file, self.terminal) = (editor, lines, file, terminal)
        edit_set_prompt(editor) { edit_state_of($0).pointee.prompt }
        edit_keep(lines, Self.keptLines)
        edit_set_history(editor, lines)
        if let file { _ = edit_load(lines, file) }
        edit_add(editor, "chat-interrupt", "drops the line") { interrupt($0, $1) }
        edit_add(editor, "chat-suspend", "stops the program until it is continued") { _, _ in
            raise(SIGTSTP)
            return UInt8(CC_REFRESH)
        }
        edit_add(editor, "chat-paste", "takes a paste as one text") { paste($0, $1) }
        for (keys, function) in Self.keys { edit_bind(editor, keys, function) }
        // Read the user's settings for all programs that use libedit.
        el_source(editor, nil)
    }

    private static let keys = [
        ("^C", "chat-interrupt"), ("^Z", "chat-suspend"), ("\\e[200~", "chat-paste"), ("^R", "em-inc-search-prev"),
        ("\\e[1;5C", "em-next-word"), ("\\e[1;5D", "ed-prev-word"), ("\\e[3~", "ed-delete-next-char"),
        ("\\e[H", "ed-move-to-beg"), ("\\e[F", "ed-move-to-end"),
    ]

    deinit {
        el_end(editor)
        history_end(lines)
        free(state.pointee.prompt)
        state.deallocate()
    }

    /// Waits for a line.
    ///
    /// - Parameter notice: Text shown before the prompt, after the editor has taken over Ctrl-C.
    func read(prompt: String, notice: String?) -> Line {
        free(state.pointee.prompt)
        state.pointee = edit_state(prompt: strdup(prompt), is_interrupted: 0)
        edit_prepare(editor)
        if let notice { writeToStandardOutput("\r\(terminal.dimmed(notice))\r\n") }
        // Turn on bracketed paste.
        steer("\u{1B}[?2004h")
        defer { steer("\u{1B}[?2004l") }
        var count: Int32 = 0
        guard let found = el_gets(editor, &count), count > 0 else {
            return state.pointee.is_interrupted == 0 ? .end : .interrupted(wasEmpty: state.pointee.is_interrupted == 1)
        }
        var text = String(cString: found)
        if text.utf8.last == UInt8(ascii: "\n") { text.unicodeScalars.removeLast() }
        return .text(text)
    }

    /// Adds a text to the history of lines.
    func remember(_ text: String) {
        edit_remember(lines, text)
        if let file { _ = edit_save(lines, file) }
    }

    private func steer(_ sequence: String) {
        if terminal.hasEscapes { writeToStandardOutput(sequence) }
    }
}

/// Ctrl-C: drops the line.
private func interrupt(_ editor: OpaquePointer?, _: wint_t) -> UInt8 {
    guard let editor, let line = el_line(editor)?.pointee else { return UInt8(CC_ERROR) }
    let isEmpty = line.buffer == line.lastchar
    edit_state_of(editor).pointee.is_interrupted = isEmpty ? 1 : 2
    return UInt8(CC_EOF)
}

/// End marker of a bracketed paste.
private let pasteEnd = "\u{1B}[201~".unicodeScalars

/// Inserts a paste, including line breaks, without sending it.
private func paste(_ editor: OpaquePointer?, _: wint_t) -> UInt8 {
    var pasted = String.UnicodeScalarView()
    var value: UInt32 = 0
    while edit_next(editor, &value) != 0 {
        guard let scalar = Unicode.Scalar(value) else { continue }
        pasted.append(scalar)
        if scalar == "~", pasted.suffix(pasteEnd.count).elementsEqual(pasteEnd) {
            pasted.removeLast(pasteEnd.count)
            break
        }
    }
    let text = String(pasted).replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    el_insertstr(editor, text.withoutControlCharacters)
    return UInt8(CC_REFRESH)
}
