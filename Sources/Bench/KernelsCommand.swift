import CommandLineParsing
import Foundation
import LocalLLM
import Platform

/// Measures each kernel separately.
struct KernelsCommand: Command {
    static let name = "kernels"
    static let summary = "time and error of each kernel on one thread"
    static let synopsis = "[--tier NAME] [--format NAME,…] [--seconds S] [-o md|json]"
    static let details = """
        Measures dequantization of a row of 2048 weights; products of 512 × 2048 weights with 1, 4 and 96 tokens; RMSNorm;
        SwiGLU; attention over both KV cache formats. The error is the normalized mean squared error against the portable
        kernel. Exits with 1 if an error exceeds its rounding limit.
        """
    static let options: [Option] = [
        ModelOption.tier.option,
        Option("--format", value: "NAME,…", help: "weight formats, e.g. Q4_K; none skips them (default: all)"),
        Option("--seconds", value: "S", help: "run time per kernel (default: 0.05)"),
        Option("-o", "--output", value: "md|json", help: "a table or JSON (default: md)"),
    ]

    let tier: KernelTier?
    let formats: [String]
    let seconds: Double
    let format: MachineCommand.Format

    init(_ arguments: Arguments) throws(UsageError) {
        tier = try arguments.configuration([.tier]).tier
        let names = arguments.strings("--format").flatMap { $0.split(separator: ",").map(String.init) }
        formats = names.isEmpty ? KernelMeter.formats : names.filter { $0 != "none" }
        if let name = formats.first(where: { !KernelMeter.formats.contains($0) }) {
            throw UsageError(
                "--format: expected some of \(KernelMeter.formats.joined(separator: ", ")), found '\(name)'")
        }
        seconds = try arguments.double("--seconds") ?? 0.05
        guard (0...60).contains(seconds) else { throw UsageError("--seconds: expected 0...60, found \(seconds)") }
        format = try arguments.choice("--output") ?? .md
    }

    struct Row: Encodable {
        let kernel: String
        let nanoseconds: Double
        /// Values or operations per second.
        let rate: Double
        let unit: String
        let error: Double
        let limit: Double
        let isRight: Bool

        enum CodingKeys: String, CodingKey {
            case kernel, rate, unit
            case nanoseconds = "ns"
            case error = "nmse"
            case limit = "nmse_limit"
            case isRight = "ok"
        }

        init(_ measurement: KernelMeasurement) {
            kernel = measurement.name
            nanoseconds = measurement.seconds * 1e9
            rate = Double(measurement.work) / measurement.seconds
            unit = measurement.unit.rawValue
            // JSON has neither infinities nor NaN.
            error = measurement.error.isFinite ? measurement.error : .greatestFiniteMagnitude
            limit = measurement.limit
            isRight = measurement.isRight
        }
    }

    func run() async throws -> Bool {
        let meter = try KernelMeter(tier: tier, seconds: seconds)
        var rows: [Row] = []
        for name in formats {
            showProgress("kernels of \(name)")
            rows += try meter.measure(format: name).map(Row.init)
        }
        showProgress("attention, norm, gate")
        rows += meter.measureOthers().map(Row.init)
        showProgress("")
        switch format {
        case .json: try printJSON(rows, pretty: true)
        case .md: print(Self.render(rows) + "\n\nkernels: \(meter.kernels), \(ProcessorInfo.name)")
        }
        let wrong = rows.filter { !$0.isRight }
        for row in wrong {
            printToStandardError("bench: kernels: \(row.kernel): error \(row.error), expected at most \(row.limit)")
        }
        return wrong.isEmpty
    }

    static func render(_ rows: [Row]) -> String {
        markdownTable(
            ["kernel", "µs", "G/s", "of", "error", "check"],
            rows.map { row in
                [
                    row.kernel, String(format: "%.2f", row.nanoseconds / 1e3), String(format: "%.2f", row.rate / 1e9),
                    row.unit, String(format: "%.1e", row.error), row.isRight ? "ok" : "WRONG",
                ]
            }, leftAligned: [0, 3, 5])
    }
}
