import CommandLineParsing
import Foundation

/// A line that shows that something goes on, and is removed when it has ended.
@MainActor
final class Spinner {
    private static let frames = Array("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

    private let terminal: Terminal
    private let task: Task<Void, Never>

    /// - Parameters:
    ///   - stream: Shows the line if it is a terminal.
    ///   - text: What goes on; `nil` once it has ended.
    init(_ terminal: Terminal, on stream: StandardStream = .output, text: @escaping @MainActor () -> String?) {
        self.terminal = terminal
        task = Task {
            guard isatty(stream.rawValue) == 1, terminal.hasEscapes else { return }
            var count = 0
            while (try? await Task.sleep(for: .milliseconds(120))) != nil, let text = text() {
                let frame = Self.frames[count % Self.frames.count]
                let line = "\(frame) \(text.withoutControlCharacters)".prefix((terminal.width ?? 80) - 1)
                stream.write("\r\u{1B}[K" + terminal.dimmed(String(line)))
                count += 1
            }
            if count > 0 { stream.write("\r\u{1B}[K") }
        }
    }

    /// Removes the line.
    func stop() async {
        task.cancel()
        await task.value
    }
}
