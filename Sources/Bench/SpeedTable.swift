import Foundation
import JSON
import LocalLLM

/// Results as a Markdown table with llama-bench's columns, and ours before its last two. As in llama-bench, the KV
/// cache's types have columns only if they are not the default.
enum SpeedTable {
    private static func header(withTypes: Bool) -> [String] {
        ["model", "size", "params", "backend", "threads"] + (withTypes ? ["type_k", "type_v"] : [])
            + ["load s", "first token s", "peak memory", "of machine", "test", "t/s"]
    }
    private static let leftAligned: Set = [0, 3]

    static func render(_ results: [SpeedResult]) -> String {
        let usual = KVCacheFormat.f16.rawValue
        let withTypes = results.contains { $0.keyType != usual || $0.valueType != usual }
        let rows = results.map { result in
            [
                result.modelType, binary(result.modelBytes), decimal(result.modelParameters), result.backends,
                "\(result.threads)",
            ] + (withTypes ? [result.keyType, result.valueType] : []) + [
                String(format: "%.3f", result.loadSeconds), String(format: "%.3f", result.firstTokenSeconds),
                binary(result.peakResidentBytes), share(result), result.test.name,
                String(format: "%.2f ± %.2f", result.meanTokensPerSecond, result.deviationTokensPerSecond),
            ]
        }
        let build = results.first.map { "\n\nbuild: \($0.buildCommit), kernels: \($0.kernels), \($0.cpu)" } ?? ""
        return markdownTable(header(withTypes: withTypes), rows, leftAligned: leftAligned) + legend + build
    }

    private static let legend = """


        of machine: share of the measured memory read bandwidth (read) and of the measured peak rates for float (f32) and 8-bit
        (i8) products, with the same threads and kernels
        """

    /// `72 % read`, `77 % f32, 39 % i8`
    private static func share(_ result: SpeedResult) -> String {
        [(result.readFraction, "read"), (result.floatFraction, "f32"), (result.byteFraction, "i8")]
            .compactMap { share, name in share.map { String(format: "%.0f %% \(name)", 100 * $0) } }
            .joined(separator: ", ")
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

/// Results in llama-bench's CSV format: every value quoted, without samples.
enum SpeedCSV {
    private static let columns = SpeedResult.CodingKeys.allCases.filter {
        $0 != .samplesNanoseconds && $0 != .samplesTokensPerSecond
    }

    static func render(_ results: [SpeedResult]) throws -> String {
        let rows = try results.map { try fields($0).map(quoted) }
        return ([columns.map(\.rawValue)] + rows).map { $0.joined(separator: ",") }.joined(separator: "\n")
    }

    /// Results as SQLite statements for llama-bench's table.
    static func renderSQL(_ results: [SpeedResult]) throws -> String {
        let names = columns.map(\.rawValue).joined(separator: ", ")
        let rows = try results.map { result in
            let values = try fields(result).map { "'\($0.replacing("'", with: "''"))'" }.joined(separator: ", ")
            return "INSERT INTO llama_bench (\(names)) VALUES (\(values));"
        }
        return (["CREATE TABLE IF NOT EXISTS llama_bench (\(names));"] + rows).joined(separator: "\n")
    }

    private static func fields(_ result: SpeedResult) throws -> [String] {
        let fields = try JSON(parsing: [UInt8](encodeJSON(result)), .init(depth: 8))
        return columns.map { fields[$0.rawValue]?.field ?? "" }
    }

    static func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\"\""))\"" }
}

extension JSON {
    /// A text or a number as text; other values are empty.
    fileprivate var field: String {
        switch self {
        case .string(let text): text
        case .number(let number): number.text
        default: ""
        }
    }
}
