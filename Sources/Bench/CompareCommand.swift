import CommandLineParsing
import Foundation

/// Compares two result files.
struct CompareCommand: Command {
    static let name = "compare"
    static let summary = "compare two results of bench speed, with a significance test"
    static let synopsis = "A.json B.json [-o md|json]"
    static let details = """
        Reads json or jsonl output of "bench speed" or llama-bench. Tests are paired by prompt, generation, depth, sequences
        and threads; and by the model's file name, if a file has results of several models. Prints the ratio of B's speed
        to A's, of medians and of means. A difference is significant if Welch's t-test of the samples says so at 95 %.
        """
    static let options: [Option] = [
        Option("-o", "--output", value: "md|json", help: "a table or JSON (default: md)")
    ]
    static let takesOperands = true

    let files: (String, String)
    let format: MachineCommand.Format

    init(_ arguments: Arguments) throws(UsageError) {
        let operands = arguments.operands
        guard operands.count == 2 else { throw UsageError("expected two files of results, found \(operands.count)") }
        files = (operands[0], operands[1])
        format = try arguments.choice("--output") ?? .md
    }

    func run() async throws -> Bool {
        let (first, second) = (try Self.read(files.0), try Self.read(files.1))
        let pairs = Self.pair(first, second)
        guard !pairs.isEmpty else { throw BenchError("\(files.0) and \(files.1) have no test in common") }
        switch format {
        case .json: try printJSON(pairs, pretty: true)
        case .md:
            print(Self.render(pairs) + "\n")
            print(Self.origin("A", files.0, first))
            print(Self.origin("B", files.1, second))
        }
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

        enum CodingKeys: String, CodingKey {
            case cpu = "cpu_info"
            case commit = "build_commit"
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
        let parts = [results.compactMap(\.cpu), results.compactMap(\.commit).map { "build \($0)" }]
        let texts = parts.flatMap { values in Set(values).sorted() }
        return "\(name): \(path)" + (texts.isEmpty ? "" : " (\(texts.joined(separator: ", ")))")
    }

    static func render(_ pairs: [Pair]) -> String {
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
            (withModels ? ["model"] : []) + header, rows, leftAligned: withModels ? [0, 1, 8] : [0, 7])
    }
}
