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
    StandardStream.error.write(message.fittedToStandardError + "\n")
}

/// Shows a progress line, which the next one overwrites; does nothing without a terminal.
func showProgress(_ text: String) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    StandardStream.error.write("\r\u{1B}[K\(text)")
}

/// An aligned Markdown table.
///
/// - Parameters:
///   - common: Columns that may be left out of a table that is too wide, if all rows have the same; they are then
///     listed above it.
///   - width: Columns of the terminal; `nil`: the table may have any width.
func markdownTable(
    _ header: [String], _ rows: [[String]], leftAligned: Set<Int>, common: Range<Int> = 0..<0, width: Int? = nil
) -> String {
    let table = markdownTable(header, rows, leftAligned)
    guard let width, let line = table.split(separator: "\n").first, line.count > width else { return table }
    let same = common.filter { column in Set(rows.map { $0[column] }).count == 1 }
    guard !same.isEmpty else { return table }
    let kept = header.indices.filter { !same.contains($0) }
    let facts = same.map { "\(header[$0]) \(rows[0][$0])" }.joined(separator: " · ")
    return facts.wrapped(to: width) + "\n\n"
        + markdownTable(
            kept.map { header[$0] }, rows.map { row in kept.map { row[$0] } },
            Set(kept.indices.filter { leftAligned.contains(kept[$0]) }))
}

private func markdownTable(_ header: [String], _ rows: [[String]], _ leftAligned: Set<Int>) -> String {
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
