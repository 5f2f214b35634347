import CEdit
import Foundation

/// Where lines are typed in a terminal, by libedit: keys to move and delete, earlier lines with the arrows and Ctrl-R, and a
/// paste that is one text however many lines it has.
struct LineEditor: ~Copyable {
    enum Line: Equatable {
        /// Without the newline that ended it.
        case text(String)
        /// Ctrl-C. What was typed is dropped.
        case interrupted(wasEmpty: Bool)
        /// Ctrl-D, or the terminal is gone.
        case end
    }

    private static let keptLines: Int32 = 1000

    private let editor: OpaquePointer
    private let lines: OpaquePointer
    private let state: UnsafeMutablePointer<edit_state>
    private let file: String?

    /// - Parameters:
    ///   - showsOnOutput: Whether the standard output is a terminal; if not, the standard error shows the line.
    ///   - file: Keeps the lines for the next start; `nil` keeps them until the program ends.
    /// - Returns: `nil` where libedit finds no way to steer the terminal.
    init?(showsOnOutput: Bool, file: String?) {
        state = .allocate(capacity: 1)
        state.initialize(to: edit_state(prompt: strdup(""), is_interrupted: 0))
        guard let editor = edit_start(showsOnOutput ? 1 : 0, state), let lines = history_init() else {
            free(state.pointee.prompt)
            state.deallocate()
            return nil
        }
        (self.editor, self.lines, self.file) = (editor, lines, file)
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
        // What the user has set for every program that uses libedit.
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
    /// - Parameter notice: Shown before the prompt, once Ctrl-C is the editor's.
    func read(prompt: String, notice: String?) -> Line {
        free(state.pointee.prompt)
        state.pointee = edit_state(prompt: strdup(prompt), is_interrupted: 0)
        edit_prepare(editor)
        if let notice { steer("\r\u{1B}[2m\(notice)\u{1B}[0m\r\n") }
        // The terminal marks what is pasted.
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

    /// Has the arrows and Ctrl-R find a text.
    func remember(_ text: String) {
        edit_remember(lines, text)
        if let file { _ = edit_save(lines, file) }
    }

    private func steer(_ sequence: String) { FileHandle.standardOutput.write(Data(sequence.utf8)) }
}

/// Ctrl-C: ends the line with nothing in it.
private func interrupt(_ editor: OpaquePointer?, _: wint_t) -> UInt8 {
    guard let editor, let line = el_line(editor)?.pointee else { return UInt8(CC_ERROR) }
    let isEmpty = line.buffer == line.lastchar
    edit_state_of(editor).pointee.is_interrupted = isEmpty ? 1 : 2
    return UInt8(CC_EOF)
}

/// The marker that follows a paste.
private let pasteEnd = "\u{1B}[201~".unicodeScalars

/// Puts a paste into the line as it is. It is sent by the key that sends a line.
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
