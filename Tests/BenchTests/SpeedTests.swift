import CommandLineParsing
import Foundation
import LocalLLM
import TestSupport
import Testing

@testable import Bench

@Suite struct SpeedTests {
    private func command(_ arguments: String...) throws(UsageError) -> SpeedCommand {
        try SpeedCommand(
            Arguments(["-m", "/model.gguf"] + arguments, options: Bench.allOptions(of: SpeedCommand.self)))
    }

    @Test func `without options it measures 512 prompt tokens and 128 generated ones, 5 times`() throws {
        let command = try command()
        #expect(command.tests == [.init(prompt: 512), .init(generate: 128)])
        #expect(command.repetitions == 5)
        #expect(command.threads == [nil])
        #expect(command.format == .md)
    }

    @Test func `lists are tested in llama-bench's order: depths, then prompts, then generations`() throws {
        let command = try command("-p", "8,16", "-n", "4", "-d", "0,32", "-t", "1,2")
        #expect(command.tests.map(\.name) == ["pp8", "pp16", "tg4", "pp8 @ d32", "pp16 @ d32", "tg4 @ d32"])
        #expect(command.threads == [1, 2])
    }

    @Test func `each number of sequences is a test of its own, beside the depths`() throws {
        let command = try command("-p", "8", "-n", "4", "-d", "0,32", "-b", "1,8")
        #expect(
            command.tests.map(\.name) == [
                "pp8", "tg4", "pp8 x8", "tg4 x8", "pp8 @ d32", "tg4 @ d32", "pp8 x8 @ d32", "tg4 x8 @ d32",
            ])
        #expect(throws: UsageError.self) { try self.command("-b", "0") }
        #expect(throws: UsageError.self) { try self.command("-b", "513") }
    }

    @Test func `BLAS is the portable tier, native the library's choice`() throws {
        #expect(try command().configuration.tier == nil)
        #expect(try command("--matmul", "native").configuration.tier == nil)
        #expect(try command("--matmul", "blas").configuration.tier == .portable)
        #expect(try command("--tier", "avx2").configuration.tier == .avx2)
        #expect(throws: UsageError("--matmul and --tier: give only one")) {
            try command("--matmul", "blas", "--tier", "avx2")
        }
        #expect(throws: UsageError("--matmul: expected blas or native, found 'mkl'")) { try command("--matmul", "mkl") }
    }

    @Test func `0 leaves a kind of test out, and two of them leave nothing`() throws {
        #expect(try command("-p", "0").tests == [.init(generate: 128)])
        #expect(try command("-n", "0").tests == [.init(prompt: 512)])
        #expect(throws: UsageError("-p and -n are both 0: nothing to measure")) { try command("-p", "0", "-n", "0") }
    }

    @Test func `other formats and no repetitions are refused`() {
        #expect(throws: UsageError("--output: expected md, json, jsonl, csv or sql, found 'xml'")) {
            try command("-o", "xml")
        }
        #expect(throws: UsageError.self) { try command("-r", "0") }
        #expect(throws: UsageError.self) { try command("-t", "0") }
    }

    @Test func `the deviation is that of a sample`() {
        #expect([2.0, 4, 4, 4, 5, 5, 7, 9].mean == 5)
        #expect([2.0, 4, 4, 4, 5, 5, 7, 9].sampleDeviation == (32.0 / 7).squareRoot())
        #expect([3.0].sampleDeviation == 0)
        #expect([Double]().mean == 0)
    }

    @Test func `the median is the middle one, or between the middle two`() {
        #expect([5.0, 1, 3].median == 3)
        #expect([5.0, 1, 3, 100].median == 4)
        #expect([Double]().median == 0)
    }

    private static let machine = MachineMeasurement(
        threads: 2, readBandwidth: 20e9, floatPeak: 200e9, wordPeak: 300e9, bytePeak: 600e9)

    private static let result = SpeedResult(
        buildCommit: "abc1234", cpu: "A \"Processor\"", kernels: "portable", modelFilename: "dir/model.gguf",
        modelType: "llama 1.24B Q4_K", modelBytes: 807_694_464, modelParameters: 1_235_814_432, threads: 2,
        prompt: 512, generated: 0, depth: 64, testTime: Date(timeIntervalSince1970: 1_745_495_930),
        samplesNanoseconds: [1_000_000, 3_000_000], meanNanoseconds: 2_000_000, deviationNanoseconds: 1_414_213,
        samplesTokensPerSecond: [512_000, 170_666.5], meanTokensPerSecond: 341_333.25,
        deviationTokensPerSecond: 241_359.5, loadSeconds: 0.25, firstTokenSeconds: 0.002,
        peakResidentBytes: 1_073_741_824, operationsPerSecond: 150e9)

    @Test func `JSON has llama-bench's names and ours`() throws {
        let json = try JSONSerialization.jsonObject(with: encodeJSON([Self.result], pretty: true))
        let object = try #require((json as? [[String: Any]])?.first)
        #expect(
            Set(object.keys) == [
                "build_commit", "cpu_info", "gpu_info", "backends", "model_filename", "model_type", "model_size",
                "model_n_params", "n_batch", "n_ubatch", "n_threads", "n_prompt", "n_gen", "n_depth", "test_time",
                "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts", "kernels", "load_s",
                "first_token_s", "peak_rss_bytes", "n_seq", "read_bps", "product_ops", "type_k", "type_v",
            ])
        #expect(object["test_time"] as? String == "2025-04-24T11:58:50Z")
        #expect(object["model_filename"] as? String == "dir/model.gguf")
        #expect(object["n_prompt"] as? Int == 512)
        #expect(object["n_gen"] as? Int == 0)
        #expect(object["avg_ts"] as? Double == 341_333.25)
        #expect(object["samples_ns"] as? [Int] == [1_000_000, 3_000_000])
        #expect(object["peak_rss_bytes"] as? Int == 1_073_741_824)
    }

    @Test func `the table is Markdown, its last two columns test and speed`() {
        var result = Self.result
        result.compare(to: Self.machine)
        #expect(
            SpeedTable.render([result]) == """
                | model            |       size | params | backend | threads | load s | first token s | peak memory |        of machine |        test |                   t/s |
                | ---------------- | ---------: | -----: | ------- | ------: | -----: | ------------: | ----------: | ----------------: | ----------: | --------------------: |
                | llama 1.24B Q4_K | 770.28 MiB | 1.24 B | CPU     |       2 |  0.250 |         0.002 |    1.00 GiB | 75 % f32, 25 % i8 | pp512 @ d64 | 341333.25 ± 241359.50 |

                of machine: share of the measured memory read bandwidth (read), or of the measured peak rate of the products that the
                test computes, of floats (f32) or of 8-bit integers (i8), with the same threads and kernels

                build: abc1234, kernels: portable, A "Processor"
                """)
    }

    @Test func `the cache's types are columns where they are not the usual ones`() {
        var result = Self.result
        (result.keyType, result.valueType) = ("q8_0", "q8_0")
        #expect(!SpeedTable.render([Self.result]).contains("type_k"))
        let narrow = SpeedTable.render([Self.result, Self.result], width: 80).split(separator: "\n")
        #expect(narrow.allSatisfy { $0.count <= 80 })
        #expect(narrow[0].hasPrefix("model ") && narrow.contains { $0.hasSuffix(" test |                   t/s |") })
        let header = SpeedTable.render([Self.result, result]).split(separator: "\n")[0]
        #expect(header.contains("| threads | type_k | type_v | load s |"))
    }

    @Test func `a test is held to what limits it: prompts to the peaks, answers to the bandwidth`() {
        var result = Self.result
        result.compare(to: Self.machine)
        #expect(result.floatFraction == 0.75 && result.byteFraction == 0.25 && result.readFraction == nil)
        result = Self.result
        (result.operationsPerSecond, result.readBytesPerSecond) = (0, 5e9)
        result.compare(to: Self.machine)
        #expect(result.floatFraction == nil && result.byteFraction == nil && result.readFraction == 0.25)
    }

    @Test func `a step reads the weights once, and the keys and values of each sequence`() {
        var costs = LocalModel.Costs()
        costs.bytesOfStep = 1_000_000
        costs.cacheBytesOfToken = 100
        // The middle of 9 answers sees 5 tokens of the answer, itself among them.
        var test = SpeedCommand.Test(generate: 9, depth: 20)
        #expect(costs.bytesOfStep(of: test) == 1_002_500)
        test.batch = 4
        #expect(costs.bytesOfStep(of: test) == 1_010_000)
        // A window of ten tokens, and a recurrent state.
        (costs.cacheBytesOfWindow, costs.recurrentBytes) = ([10: 7], 3)
        #expect(costs.bytesOfStep(of: test) == 1_010_292)
    }

    @Test func `SQL has the values of CSV, quotes doubled`() throws {
        var result = Self.result
        result.modelFilename = "it's.gguf"
        let lines = try SpeedCSV.renderSQL([result]).split(separator: "\n")
        #expect(
            lines.count == 2 && lines[0].hasPrefix("CREATE TABLE IF NOT EXISTS llama_bench (build_commit, cpu_info"))
        #expect(lines[1].hasPrefix("INSERT INTO llama_bench (build_commit, ") && lines[1].contains("'it''s.gguf'"))
    }

    @Test func `CSV has llama-bench's columns first, every value quoted and no samples`() throws {
        let lines = try SpeedCSV.render([Self.result, Self.result]).split(separator: "\n")
        #expect(lines.count == 3)
        let header = lines[0].split(separator: ",").map(String.init)
        #expect(header.starts(with: ["build_commit", "cpu_info", "gpu_info", "backends"]))
        #expect(!header.contains("samples_ns"))
        let values = lines[1].dropFirst().dropLast().components(separatedBy: "\",\"")
        #expect(values.count == header.count)
        let row = Dictionary(uniqueKeysWithValues: zip(header, values))
        #expect(row["cpu_info"] == "A \"\"Processor\"\"")
        #expect(row["gpu_info"] == "")
        #expect(row["n_prompt"] == "512")
        #expect(row["avg_ts"] == "341333.25")
        #expect(row["read_fraction"] == "")
        #expect(row["test_time"] == "2025-04-24T11:58:50Z")
    }

    @Test func `JSON lines are an object each`() async throws {
        let directory = try TemporaryDirectory()
        let model = try TinyModel().write(in: directory).path
        let result = try await Program.bench.run(
            "speed", "-m", model, "-p", "4", "-n", "3", "-b", "2", "-t", "1", "-r", "2", "-o", "jsonl", "--matmul",
            "blas", "--cache-type", "q8_0")
        #expect(result.code == 0)
        #expect(result.lines.count == 2)
        for line in result.lines {
            let row = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(row["n_seq"] as? Int == 2)
            #expect(row["type_k"] as? String == "q8_0" && row["type_v"] as? String == "q8_0")
            #expect((row["kernels"] as? String)?.hasPrefix("portable") == true)
            let tokens = try #require(row["n_prompt"] as? Int) + #require(row["n_gen"] as? Int)
            let nanoseconds = try #require(row["samples_ns"] as? [Double]),
                speeds = try #require(row["samples_ts"] as? [Double])
            #expect(nanoseconds.count == 2)
            // Of both sequences together; nanoseconds are cut to whole ones.
            for (time, speed) in zip(nanoseconds, speeds) {
                #expect(abs(speed * time / 1e9 / Double(2 * tokens) - 1) < 1e-3)
            }
        }
    }

    @Test func `a model is measured beyond the context that it was trained for`() async throws {
        let directory = try TemporaryDirectory()
        let model = try TinyModel().write(in: directory).path
        let result = try await Program.bench.run(
            "speed", "-m", model, "-p", "200", "-n", "3", "-d", "0,5", "-t", "1", "-r", "2", "-o", "json")
        #expect(result.complaints == "")
        #expect(result.code == 0)
        let rows = try #require(try JSONSerialization.jsonObject(with: result.output) as? [[String: Any]])
        #expect(rows.map { $0["n_prompt"] as? Int } == [200, 0, 200, 0])
        #expect(rows.map { $0["n_gen"] as? Int } == [0, 3, 0, 3])
        #expect(rows.map { $0["n_depth"] as? Int } == [0, 0, 5, 5])
        for row in rows {
            let samples = try #require(row["samples_ts"] as? [Double])
            #expect(samples.count == 2)
            let mean = try #require(row["avg_ts"] as? Double)
            #expect(abs(mean - samples.mean) < 1e-9 * mean)  // decimal digits are not exact
            let share = row["n_gen"] as? Int == 0 ? "float_fraction" : "read_fraction"
            for name in ["avg_ts", "load_s", "first_token_s", "peak_rss_bytes", "machine_read_bps", share] {
                #expect(try #require(row[name] as? Double) > 0, "\(name)")
            }
        }
    }
}
