import CommandLineParsing
import Foundation
import JSON
import LocalLLM
import Platform

/// Results as a Markdown table with llama-bench's columns, and ours before its last two. As in llama-bench, the KV
/// cache's types have columns only if they are not the default.
enum SpeedTable {
    private static func header(withTypes: Bool) -> [String] {
        ["model", "size", "params", "backend", "threads"] + (withTypes ? ["type_k", "type_v"] : [])
            + ["load s", "first token s", "peak memory", "of machine", "test", "t/s"]
    }
    private static let leftAligned: Set = [0, 3]

    /// - Parameter width: Columns of the terminal; `nil`: the table may have any width.
    static func render(_ results: [SpeedResult], width: Int? = nil) -> String {
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
        let build = results.first.map { "build: \($0.buildCommit), kernels: \($0.kernels), \($0.cpu)" } ?? ""
        let header = header(withTypes: withTypes)
        let table = markdownTable(
            header, rows, leftAligned: leftAligned, common: 0..<(header.count - 2), width: width)
        let notes = ([legend] + remarks(results)).joined(separator: "\n")
        let texts = [notes, build].map { $0.wrapped(to: min(width ?? 120, 120)) }
        return ([table] + texts).joined(separator: "\n\n")
    }

    private static let legend =
        "of machine: share of the measured memory read bandwidth (read), or of the measured peak rate of the products that "
        + "the test computes, of floats (f32) or of 8-bit integers (i8), with the same threads and kernels"

    /// Why shares are above 100 %, or not there.
    static func remarks(_ results: [SpeedResult]) -> [String] {
        var remarks: [String] = []
        if results.contains(where: { ($0.readFraction ?? 0) > 1 }) {
            remarks.append(
                "over 100 % read: a part of what a step reads stays in the processor's caches "
                    + "(the largest has \(binary(ProcessorInfo.largestCache()))), which are faster than the memory")
        }
        if results.contains(where: { $0.readFraction == nil && ($0.limitingFraction ?? 0) > 1 }) {
            remarks.append("over 100 % of a peak rate: something else used the processor while the peak was measured")
        }
        return remarks
    }

    /// `72 % read`, `77 % f32, 39 % i8`
    static func share(_ result: SpeedResult) -> String {
        let (float, byte) = (result.floatFraction, result.byteFraction)
        let shares = [
            (result.readFraction, "read"), (result.multipliesBytes == true ? nil : float, "f32"),
            (result.multipliesBytes == false ? nil : byte, "i8"),
        ]
        return
            shares
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
