import CommandLineParsing
import Foundation

/// Why a command failed or could not read a line of its input, with advice for the user.
struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Encodes JSON with sorted keys, so that equal results are equal texts.
func encodeJSON(_ value: some Encodable, pretty: Bool = false) throws -> Data {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return try encoder.encode(value)
}

func printJSON(_ value: some Encodable, pretty: Bool = false) throws {
    try FileHandle.standardOutput.write(contentsOf: encodeJSON(value, pretty: pretty) + Data([UInt8(ascii: "\n")]))
}

func printToStandardError(_ message: String) {
    StandardStream.error.write(message + "\n")
}

/// Shows a progress line, which the next one overwrites; does nothing without a terminal.
func showProgress(_ text: String) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    StandardStream.error.write("\r\u{1B}[K\(text)")
}

/// An aligned Markdown table.
func markdownTable(_ header: [String], _ rows: [[String]], leftAligned: Set<Int>) -> String {
    let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
    let rule = header.indices.map { column in
        let dashes = String(repeating: "-", count: widths[column] - 1)
        return leftAligned.contains(column) ? dashes + "-" : dashes + ":"
    }
    let lines = ([header, rule] + rows).map { cells in
        let padded = cells.enumerated().map { column, cell in
            let space = String(repeating: " ", count: widths[column] - cell.count)
            return leftAligned.contains(column) ? cell + space : space + cell
        }
        return "| " + padded.joined(separator: " | ") + " |"
    }
    return lines.joined(separator: "\n")
}
