import CommandLineParsing
import Foundation
import LocalLLM
import Platform

/// Measures the machine's peak performance.
struct MachineCommand: Command {
    static let name = "machine"
    static let summary = "measure memory read bandwidth and peak arithmetic rates"
    static let synopsis = "[-t N,…] [--memory MiB] [--tier NAME] [-o md|json]"
    static let details = """
        Prints per number of threads the bytes read from memory per second and the peak operations per second in registers
        (a multiply-add counts as two): floats (vfmadd231ps on AVX2), 16-bit integers (vpmaddwd and vpaddd) and 8-bit
        integers (vpmaddubsw and vpaddw). Each is the best of several runs.
        """
    static let options: [Option] = [
        Option("-t", "--threads", value: "N,…", help: "threads (default: powers of two up to one per physical core)"),
        Option("--memory", value: "MiB", help: "memory to read (default: 512, at least eight times the caches)"),
        ModelOption.tier.option,
        Option("-o", "--output", value: "md|json", help: "a table or JSON (default: md)"),
    ]

    enum Format: String, CaseIterable { case md, json }

    let threads: [Int]?
    let memoryBytes: Int?
    let tier: KernelTier?
    let format: Format

    init(_ arguments: Arguments) throws(UsageError) {
        threads = try arguments.ints("--threads", in: 1...1024)
        memoryBytes = try arguments.int("--memory", in: 1...1 << 24).map { $0 << 20 }
        tier = try arguments.configuration([.tier]).tier
        format = try arguments.choice("--output") ?? .md
    }

    struct Output: Encodable {
        struct Row: Encodable {
            let threads: Int
            let readBandwidth, floatPeak, wordPeak, bytePeak: Double

            enum CodingKeys: String, CodingKey {
                case threads = "n_threads"
                case readBandwidth = "read_bps"
                case floatPeak = "float_ops"
                case wordPeak = "int16_ops"
                case bytePeak = "int8_ops"
            }

            init(_ machine: MachineMeasurement) {
                threads = machine.threads
                readBandwidth = machine.readBandwidth
                floatPeak = machine.floatPeak
                wordPeak = machine.wordPeak
                bytePeak = machine.bytePeak
            }
        }

        var cpu = ProcessorInfo.name
        let memoryBytes: Int
        let mayUseHugePages: Bool
        let results: [Row]

        enum CodingKeys: String, CodingKey {
            case cpu = "cpu_info"
            case memoryBytes = "memory_bytes"
            case mayUseHugePages = "huge_pages"
            case results
        }
    }

    func run() async throws -> Bool {
        showProgress("filling memory")
        let meter = try MachineMeter(memoryBytes: memoryBytes)
        var results: [MachineMeasurement] = []
        for count in threads ?? Self.doubling(to: MachineMeter.usableThreads) {
            showProgress("\(count) threads")
            results.append(meter.measure(threads: count, tier: tier))
        }
        showProgress("")
        let output = Output(
            memoryBytes: meter.memoryBytes, mayUseHugePages: meter.mayUseHugePages, results: results.map { .init($0) })
        switch format {
        case .json: try printJSON(output, pretty: true)
        case .md: print(Self.render(output))
        }
        return true
    }

    /// 1, 2, 4, … and `last`.
    static func doubling(to last: Int) -> [Int] {
        var counts = [1]
        while counts[counts.count - 1] < last { counts.append(min(last, 2 * counts[counts.count - 1])) }
        return counts
    }

    static func render(_ output: Output) -> String {
        let rows = output.results.map { row in
            ["\(row.threads)"]
                + [row.readBandwidth, row.floatPeak, row.wordPeak, row.bytePeak].map {
                    String(format: "%.1f", $0 / 1e9)
                }
        }
        let table = markdownTable(
            ["threads", "read GB/s", "f32 GFLOP/s", "i16 GOP/s", "i8 GOP/s"], rows, leftAligned: [])
        let pages = output.mayUseHugePages ? "huge pages where free" : "small pages"
        return table + "\n\n\(output.cpu), \(output.memoryBytes >> 20) MiB read, \(pages)"
    }
}
