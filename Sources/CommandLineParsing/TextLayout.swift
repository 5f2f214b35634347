import Foundation

/// `1.24 G`
package func rounded(_ count: Int) -> String {
    let (divisor, unit) = count >= 1_000_000_000 ? (1e9, "G") : (1e6, "M")
    return String(format: "%.2f %@", Double(count) / divisor, unit)
}

/// `1.24 GB`
package func size(_ bytes: Int) -> String { rounded(bytes) + "B" }

/// Rows with their columns aligned.
package func table(_ rows: [[String]]) -> String {
    let columns = (rows.map(\.count).max() ?? 1) - 1
    let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
        zip(row, widths).map { $0.padding(toLength: $1 + 2, withPad: " ", startingAt: 0) }.joined() + row[columns]
    }.joined(separator: "\n")
}

extension String {
    /// The text in lines of at most `width` characters, broken between words. Line breaks of the text stay.
    ///
    /// - Parameter indent: Spaces in front of each line but the first.
    package func wrapped(to width: Int, indent: Int = 0) -> String {
        var lines: [String] = []
        for line in split(separator: "\n", omittingEmptySubsequences: false) {
            var current = ""
            for word in line.split(separator: " ", omittingEmptySubsequences: false) {
                if !current.isEmpty, current.count + 1 + word.count > max(1, width - indent) {
                    lines.append(current)
                    current = String(word)
                } else {
                    current += (current.isEmpty ? "" : " ") + word
                }
            }
            lines.append(current)
        }
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}

/// Columns of the terminal at a descriptor; `nil` if there is none or its width is unknown.
package func terminalWidth(_ stream: StandardStream) -> Int? {
    var size = winsize()
    guard ioctl(stream.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
}
