import Foundation
import TestSupport
import Testing

@testable import Bench

@Suite struct CompareTests {
    /// A result as both programs write it, ours with more.
    private func row(_ prompt: Int, _ samples: [Double], model: String = "dir/m.gguf", more: String = "") -> String {
        """
        {"n_prompt": \(prompt), "n_gen": 0, "n_depth": 0, "n_threads": 2, "model_filename": "\(model)", \
        "avg_ts": \(samples.mean), "samples_ts": \(samples)\(more)}
        """
    }

    private func results(_ rows: String...) throws -> [CompareCommand.Result] {
        try CompareCommand.results(in: Data(rows.joined(separator: "\n").utf8), of: "file")
    }

    @Test func `ratios are the second file's over the first's, the noise Welch's`() throws {
        let pair = try #require(
            CompareCommand.pair(try results(row(8, [10, 12])), try results(row(8, [20, 22, 24]))).first)
        #expect(pair.medians == [11, 22])
        #expect(pair.ratioOfMedians == 2 && pair.ratioOfMeans == 2)
        // Variances of the means 1 and 4/3; 2.9 degrees of freedom, taken as 2, whose quantile is 4.303.
        let noise: Double = 4.303 * (7.0 / 3).squareRoot() / 11
        #expect(abs(try #require(pair.noise) - noise) < 1e-12)
        #expect(pair.verdict == "faster")
        #expect(pair.test == "pp8")
    }

    @Test(arguments: [
        ([10.0, 12], [11.0, 12.5], "within noise"), ([10, 10.1, 9.9], [8, 8.1, 7.9], "slower"),
        ([10, 10.1, 9.9], [12, 12.1, 11.9], "faster"), ([10], [20], "one sample"), ([5, 5], [5, 5], "within noise"),
    ])
    func `the verdict`(a: [Double], b: [Double], verdict: String) throws {
        #expect(CompareCommand.pair(try results(row(8, a)), try results(row(8, b))).map(\.verdict) == [verdict])
    }

    @Test(arguments: [(1.0, 12.706), (2.9, 4.303), (10, 2.228), (15, 2.131), (30, 2.042), (1000, 1.962)])
    func `quantiles of Student's t`(freedom: Double, quantile: Double) {
        #expect(abs(Statistics.quantile(freedom: freedom) - quantile) < 0.004)
    }

    @Test func `tests pair by what they measure; samples of equal ones go together`() throws {
        let pairs = CompareCommand.pair(
            try results(row(8, [1, 2]), row(16, [3]), row(8, [3])),
            try results(row(32, [1]), row(8, [4], model: "elsewhere/m.gguf"), row(8, [9], more: #", "n_seq": 8"#)))
        #expect(pairs.map(\.test) == ["pp8"])
        #expect(pairs.first?.medians == [2, 4])
    }

    @Test func `files with several models pair by the model's name`() throws {
        let pairs = CompareCommand.pair(
            try results(row(8, [1], model: "a/x.gguf"), row(8, [2], model: "a/y.gguf")),
            try results(row(8, [3], model: "b/y.gguf")))
        #expect(pairs.map(\.model) == ["y.gguf"])
        #expect(pairs.first?.ratioOfMeans == 1.5)
    }

    @Test func `the table is Markdown`() throws {
        let pairs = CompareCommand.pair(try results(row(8, [10, 10])), try results(row(8, [20, 20])))
        #expect(
            CompareCommand.render(pairs) == """
                | test | threads | A t/s | B t/s | B/A medians | B/A means |   noise | B is   |
                | ---- | ------: | ----: | ----: | ----------: | --------: | ------: | ------ |
                | pp8  |       2 | 10.00 | 20.00 |       2.000 |     2.000 | ± 0.000 | faster |
                """)
    }

    @Test func `differences are told in words`() throws {
        func words(_ a: [Double], _ b: [Double]) throws -> String {
            CompareCommand.words(CompareCommand.pair(try results(row(8, a)), try results(row(8, b))))
                .replacing("\n", with: " ")
        }
        #expect(
            try words([10, 10.1, 9.9], [12, 12.1, 11.9]).hasPrefix("pp8: B is 20.0 % faster than A; up to 2.3 % would"))
        #expect(
            try words([10, 12], [11, 12.5]).hasPrefix("pp8: no difference beyond noise; B is 6.8 % faster than A"))
        #expect(
            try words([10], [20])
                == "pp8: B is 100.0 % faster than A; with a single sample nobody can tell whether that is noise (-r 5 takes five)."
        )
    }

    @Test func `where results come from is told once for each file`() throws {
        let results = try CompareCommand.results(
            in: Data(
                """
                {"n_prompt": 8, "n_gen": 0, "n_threads": 2, "avg_ts": 5, "cpu_info": "A Processor", "build_commit": "1a2b"}
                {"n_prompt": 9, "n_gen": 0, "n_threads": 2, "avg_ts": 5, "cpu_info": "A Processor", "build_commit": "1a2b"}
                """.utf8), of: "a.jsonl")
        #expect(CompareCommand.origin("A", "a.jsonl", results) == "A: a.jsonl (A Processor, build 1a2b)")
        #expect(CompareCommand.origin("B", "b.jsonl", []) == "B: b.jsonl")
    }

    @Test func `files are arrays or lines; others are refused by name`() async throws {
        let directory = try TemporaryDirectory()
        let array = try directory.write(Array("[\n\(row(8, [10, 11])),\n\(row(16, [5]))\n]\n".utf8), as: "a.json")
        let lines = try directory.write(Array((row(8, [5, 5.5]) + "\n").utf8), as: "b.jsonl")
        let result = try await Program.bench.run("compare", array, lines, "-o", "json")
        #expect(result.code == 0)
        let pairs = try #require(try JSONSerialization.jsonObject(with: result.output) as? [[String: Any]])
        #expect(pairs.map { $0["ratio_of_means"] as? Double } == [0.5])

        let other = try directory.write(Array((row(99, [5]) + "\n").utf8), as: "c.jsonl")
        #expect(try await Program.bench.run("compare", array, other).complaints.contains("no test in common"))
        let broken = try directory.write(Array((row(8, [5]) + "\n{\"n_prompt\": 1}\n").utf8), as: "d.jsonl")
        let refused = try await Program.bench.run("compare", array, broken)
        #expect(refused.complaints.contains("d.jsonl, line 2: 'n_gen' is missing"))
        #expect(refused.code == 1)
        #expect(try await Program.bench.run("compare", array, lines, lines).code == 2)
        let alone = try await Program.bench.run(
            "compare", array, environment: ["XDG_DATA_HOME": directory.url.path])
        #expect(alone.code == 1 && alone.complaints.contains("there are no earlier runs"))
        #expect(try await Program.bench.run("compare", array, "/nowhere/e.json").complaints.contains("/nowhere/e.json"))
    }
}
