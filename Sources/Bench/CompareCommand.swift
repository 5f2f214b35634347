import CommandLineParsing
import Foundation

/// Compares two result files.
struct CompareCommand: Command {
    static let name = "compare"
    static let summary = "compare two results of bench speed, with a significance test"
    static let synopsis = "[A.json [B.json]] [-o md|json] [--report FILE]"
    static let details = """
        Reads json or jsonl output of "bench speed" or llama-bench. Without B.json, B is the last run of "bench speed" at a
        terminal; without A.json, A is the run before it with tests of the same models. Tests are paired by prompt,
        generation, depth, sequences and threads; and by the model's file name, if a file has results of several models.
        Prints the ratio of B's speed to A's, of medians and of means. A difference is significant if Welch's t-test of the
        samples says so at 95 %.
        """
    static let options: [Option] = [
        Option("-o", "--output", value: "md|json", help: "a table or JSON (default: md)"),
        Report.option,
    ]
    static let takesOperands = true

    let files: [String]
    let format: MachineCommand.Format
    let reportFile: String?

    init(_ arguments: Arguments) throws(UsageError) {
        files = arguments.operands
        guard files.count <= 2 else { throw UsageError("expected at most two files of results, found \(files.count)") }
        format = try arguments.choice("--output") ?? .md
        reportFile = arguments.string("--report")
    }

    func run() async throws -> Bool {
        let history = SpeedHistory()
        let (first, second) =
            switch files.count {
            case 0: try history.lastTwo()
            case 1: try history.lastTwo(comparing: Self.read(files[0]))
            default: (try Self.read(files[0]), try Self.read(files[1]))
            }
        let names = ["an earlier run", "the last run"]
        let (a, b) = (files.first ?? names[0], files.count > 1 ? files[1] : names[1])
        let pairs = Self.pair(first, second)
        guard !pairs.isEmpty else { throw BenchError("\(a) and \(b) have no test in common") }
        let origins = [Self.origin("A", a, first), Self.origin("B", b, second)]
        switch format {
        case .json: try printJSON(pairs, pretty: true)
        case .md:
            let width = terminalWidth(.output)
            print(
                [
                    Self.render(pairs, width: width), Self.words(pairs, width: min(width ?? 120, 120)),
                    origins.joined(separator: "\n"),
                ].joined(separator: "\n\n"))
        }
        if let reportFile { try CompareReport.report(pairs, origins).write(to: reportFile) }
        return true
    }

    /// One result of ours or of llama-bench.
    struct Result: Decodable {
        let model: String?
        let prompt: Int
        let generated: Int
        let depth: Int?
        let batch: Int?
        let threads: Int
        let mean: Double
        let samples: [Double]?
        let cpu: String?
        let commit: String?
        let time: String?

        enum CodingKeys: String, CodingKey {
            case cpu = "cpu_info"
            case commit = "build_commit"
            case time = "test_time"
            case model = "model_filename"
            case prompt = "n_prompt"
            case generated = "n_gen"
            case depth = "n_depth"
            case batch = "n_seq"
            case threads = "n_threads"
            case mean = "avg_ts"
            case samples = "samples_ts"
        }

        var speeds: [Double] { samples.flatMap { $0.isEmpty ? nil : $0 } ?? [mean] }
        var file: String { model.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "" }
        var test: SpeedCommand.Test {
            .init(prompt: prompt, generate: generated, depth: depth ?? 0, batch: batch ?? 1)
        }
    }

    private static func read(_ path: String) throws -> [Result] {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw BenchError("cannot read '\(path)': \(error.localizedDescription)")
        }
        return try results(in: data, of: path)
    }

    /// - Parameter data: A JSON array of results, or one result per line.
    static func results(in data: Data, of path: String) throws -> [Result] {
        if data.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "[") {
            do {
                return try JSONLines.decode(from: data)
            } catch {
                throw BenchError("\(path): \(JSONLines.message(for: error))")
            }
        }
        return try data.split(separator: UInt8(ascii: "\n")).enumerated().map { index, line in
            do {
                return try JSONLines.decode(from: Data(line))
            } catch {
                throw BenchError("\(path), line \(index + 1): \(JSONLines.message(for: error))")
            }
        }
    }

    /// A test in both files.
    struct Pair: Encodable, Equatable {
        let test: String
        let threads: Int
        let model: String
        let medians: [Double]
        let means: [Double]
        /// B over A.
        let ratioOfMedians: Double
        let ratioOfMeans: Double
        /// Relative difference of the means that is due to chance with 95 % confidence; `nil` if either has only one
        /// sample.
        let noise: Double?
        let verdict: String

        enum CodingKeys: String, CodingKey {
            case test, model, medians, means, noise, verdict
            case threads = "n_threads"
            case ratioOfMedians = "ratio_of_medians"
            case ratioOfMeans = "ratio_of_means"
        }

        init(_ test: SpeedCommand.Test, threads: Int, model: String, _ a: [Double], _ b: [Double]) {
            self.test = test.name
            self.threads = threads
            self.model = model
            medians = [a.median, b.median]
            means = [a.mean, b.mean]
            ratioOfMedians = b.median / a.median
            ratioOfMeans = b.mean / a.mean
            noise = Statistics.noise(of: a, b).map { $0 / a.mean }
            if let noise {
                let isBeyond = abs(ratioOfMeans - 1) > noise
                verdict = !isBeyond ? "within noise" : ratioOfMeans > 1 ? "faster" : "slower"
            } else {
                verdict = "one sample"
            }
        }
    }

    private struct Key: Hashable {
        let test: SpeedCommand.Test
        let threads: Int
        let model: String
    }

    /// Merges the samples of equal tests in one file. Tests are in the order of the first file.
    static func pair(_ first: [Result], _ second: [Result]) -> [Pair] {
        let tellsModels = [first, second].contains { Set($0.map(\.file)).count > 1 }
        func key(_ result: Result) -> Key {
            Key(test: result.test, threads: result.threads, model: tellsModels ? result.file : "")
        }
        var samples: [Key: [Double]] = [:]
        for result in second { samples[key(result), default: []] += result.speeds }
        var order: [Key] = []
        var own: [Key: [Double]] = [:]
        for result in first {
            if own[key(result)] == nil { order.append(key(result)) }
            own[key(result), default: []] += result.speeds
        }
        return order.compactMap { key in
            samples[key].map { Pair(key.test, threads: key.threads, model: key.model, own[key] ?? [], $0) }
        }
    }

    /// `A: old.json (AMD EPYC, build 1a2b3c4)`
    static func origin(_ name: String, _ path: String, _ results: [Result]) -> String {
        let parts = [
            results.compactMap(\.cpu), results.compactMap(\.commit).filter { $0 != "unknown" }.map { "build \($0)" },
        ]
        let texts =
            parts.flatMap { values in Set(values).sorted() } + [results.compactMap(\.time).max()].compactMap(\.self)
        return "\(name): \(path)" + (texts.isEmpty ? "" : " (\(texts.joined(separator: ", ")))")
    }

    /// What the table says, in sentences.
    ///
    /// - Parameter width: Columns of a line; `nil`: a line per sentence.
    static func words(_ pairs: [Pair], width: Int? = 120) -> String {
        let sentences = pairs.map(\.words) + (pairs.contains { $0.noise != nil } ? [noiseMeans] : [])
        return sentences.map { sentence in width.map { sentence.wrapped(to: $0) } ?? sentence }.joined(separator: "\n")
    }

    private static let noiseMeans =
        "Noise is how far the means of two runs of the same program may be apart in 19 of 20 comparisons, as the samples vary."

    /// - Parameter width: Columns of the terminal; `nil`: the table may have any width.
    static func render(_ pairs: [Pair], width: Int? = nil) -> String {
        let withModels = pairs.contains { !$0.model.isEmpty }
        let rows = pairs.map { pair in
            (withModels ? [pair.model] : []) + [
                pair.test, "\(pair.threads)", String(format: "%.2f", pair.medians[0]),
                String(format: "%.2f", pair.medians[1]), String(format: "%.3f", pair.ratioOfMedians),
                String(format: "%.3f", pair.ratioOfMeans),
                pair.noise.map { String(format: "± %.3f", $0) } ?? "?", pair.verdict,
            ]
        }
        let header = ["test", "threads", "A t/s", "B t/s", "B/A medians", "B/A means", "noise", "B is"]
        return markdownTable(
            (withModels ? ["model"] : []) + header, rows, leftAligned: withModels ? [0, 1, 8] : [0, 7],
            common: withModels ? 2..<3 : 1..<2, width: width)
    }
}

extension CompareCommand.Pair {
    /// `pp512: B is 3.1 % faster than A; up to 1.2 % would be noise.`
    var words: String {
        let name = (model.isEmpty ? "" : "\(model), ") + test
        let percent = 100 * (ratioOfMeans - 1)
        func text(_ percent: Double) -> String { String(format: "%.1f %%", abs(percent)) }
        let difference = "\(text(percent)) \(percent < 0 ? "slower" : "faster") than A"
        guard let noise else {
            return
                "\(name): B is \(difference); with a single sample nobody can tell whether that is noise (-r 5 takes five)."
        }
        return abs(percent) > 100 * noise
            ? "\(name): B is \(difference); up to \(text(100 * noise)) would be noise."
            : "\(name): no difference beyond noise; B is \(difference), and up to \(text(100 * noise)) is noise."
    }
}
