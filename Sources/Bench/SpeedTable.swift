import Foundation

/// Results as a Markdown table with llama-bench's columns, and ours before its last two.
enum SpeedTable {
    private static let header = [
        "model", "size", "params", "backend", "threads", "load s", "first token s", "peak memory", "test", "t/s",
    ]
    private static let leftAligned: Set = [0, 3]

    static func render(_ results: [SpeedResult]) -> String {
        let rows = results.map { result in
            [
                result.modelType, binary(result.modelBytes), decimal(result.modelParameters), result.backends,
                "\(result.threads)", String(format: "%.3f", result.loadSeconds),
                String(format: "%.3f", result.firstTokenSeconds), binary(result.peakResidentBytes), result.test.name,
                String(format: "%.2f ± %.2f", result.meanTokensPerSecond, result.deviationTokensPerSecond),
            ]
        }
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
        let build = results.first.map { "\n\nbuild: \($0.buildCommit), kernels: \($0.kernels), \($0.cpu)" } ?? ""
        return lines.joined(separator: "\n") + build
    }

    /// `885.97 MiB`
    static func binary(_ bytes: Int) -> String {
        let mebibytes = Double(bytes) / 1_048_576
        return mebibytes < 1024
            ? String(format: "%.2f MiB", mebibytes) : String(format: "%.2f GiB", mebibytes / 1024)
    }

    /// `1.54 B`
    static func decimal(_ count: Int) -> String {
        switch Double(count) {
        case ..<1e6: String(format: "%.2f K", Double(count) / 1e3)
        case ..<1e9: String(format: "%.2f M", Double(count) / 1e6)
        default: String(format: "%.2f B", Double(count) / 1e9)
        }
    }

    /// `1.54B`
    static func short(_ count: Int) -> String { decimal(count).replacingOccurrences(of: " ", with: "") }
}
