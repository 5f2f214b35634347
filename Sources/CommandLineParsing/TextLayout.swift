import Foundation

/// With three digits: `1.24 G`, `98.4 M`, `105 M`
public func rounded(_ count: Int) -> String {
    let (divisor, unit) = count >= 999_500_000 ? (1e9, "G") : (1e6, "M")
    let value = Double(count) / divisor
    let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
    return String(format: "%.*f %@", decimals, value, unit)
}

/// `1.24 GB`
public func size(_ bytes: Int) -> String { rounded(bytes) + "B" }

/// Rows with their columns aligned.
public func table(_ rows: [[String]]) -> String {
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
    public func wrapped(to width: Int, indent: Int = 0) -> String {
        var lines: [String] = []
        for line in split(separator: "\n", omittingEmptySubsequences: false) {
            if line.count <= width - indent {
                lines.append(String(line))
                continue
            }
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

    /// A help text in lines of at most `width` characters: paragraphs are filled, lines that begin with a space stay, and a
    /// usage is broken in front of an option.
    public func filled(to width: Int = helpWidth) -> String {
        components(separatedBy: "\n\n").map { paragraph in
            if paragraph.hasPrefix("usage:") { return paragraph.usage(width) }
            let isList = paragraph.hasPrefix(" ") || paragraph.contains("\n ")
            return (isList ? paragraph : paragraph.replacing("\n", with: " ")).wrapped(to: width)
        }.joined(separator: "\n\n")
    }

    private func usage(_ width: Int) -> String {
        let space = "\u{A0}"
        return split(separator: "\n").map { line in
            let whole = line.replacingOccurrences(
                of: "(-[-a-z]+) (?=[A-Z0-9])", with: "$1\(space)", options: .regularExpression)
            return whole.wrapped(to: width, indent: "usage: ".count).replacing(space, with: " ")
        }.joined(separator: "\n")
    }

    /// A message in lines that fit the terminal which standard error is; as it is where there is none.
    public var fittedToStandardError: String { terminalWidth(.error).map { wrapped(to: $0) } ?? self }
}

/// Columns of a help text: those of the terminal, but not more than are easy to read.
public var helpWidth: Int { min(terminalWidth(.output) ?? 80, 100) }

/// Columns of the terminal at a descriptor; `nil` if there is none or its width is unknown.
public func terminalWidth(_ stream: StandardStream) -> Int? {
    var size = winsize()
    guard ioctl(stream.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
}
