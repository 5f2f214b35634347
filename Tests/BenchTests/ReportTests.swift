import CommandLineParsing
import Foundation
import LocalLLM
import TestSupport
import Testing
import Wire

@testable import Bench

@Suite struct ReportTests {
    /// Checks that each element is closed where it has to be, and that there is no script and no reference to other files.
    private func check(_ html: String) throws {
        var open: [Substring] = []
        for tag in html.matches(of: /<(\/?)([a-z0-9]+)[^<>]*?(\/?)>/) where !["meta", "br"].contains(tag.2) {
            if tag.1 == "/" {
                #expect(open.popLast() == tag.2)
            } else if tag.3.isEmpty {
                open.append(tag.2)
            }
        }
        #expect(open.isEmpty && html.hasSuffix("</html>\n"))
        for part in ["<script", "src=", "href=", "url(", "@import"] { #expect(!html.contains(part), "\(part)") }
    }

    private func result(_ prompt: Int, _ generated: Int, depth: Int = 0, batch: Int = 1, speed: Double) -> SpeedResult {
        var result = SpeedResult(
            kernels: "portable", modelFilename: "<m>.gguf", modelType: "a & b", modelBytes: 1 << 20,
            modelParameters: 10,
            threads: 2, prompt: prompt, generated: generated, depth: depth, testTime: Date(timeIntervalSince1970: 0),
            samplesNanoseconds: [1], meanNanoseconds: 1, deviationNanoseconds: 0, samplesTokensPerSecond: [speed],
            meanTokensPerSecond: speed, deviationTokensPerSecond: speed / 10, loadSeconds: 0.1, firstTokenSeconds: 0.01,
            peakResidentBytes: 1 << 20)
        result.batch = batch
        if generated > 0 { result.readBytesPerSecond = 1e6 * speed } else { result.operationsPerSecond = 1e6 * speed }
        result.compare(
            to: .init(threads: 2, readBandwidth: 2e8, floatPeak: 1e9, wordPeak: 1e9, bytePeak: 4e9))
        return result
    }

    @Test func `speeds are curves by prompt, depth and sequences, with the machine's limits`() throws {
        let report = SpeedReport.report([
            result(128, 0, speed: 500), result(512, 0, speed: 800), result(0, 32, speed: 100),
            result(0, 32, depth: 512, speed: 90), result(0, 32, batch: 4, speed: 300),
            result(0, 32, depth: 512, batch: 4, speed: 250),
        ])
        try check(report.html)
        #expect(report.sections.map(\.title) == ["Prefill", "Decode", "Batches", "All results"])
        let prefill = try #require(report.sections[0].charts.first as? LineChart)
        #expect(prefill.series.map(\.name) == ["measured"] && prefill.series[0].points.map(\.x) == ["128", "512"])
        // A peak of 1 GFLOP/s at a million operations a token.
        #expect(prefill.series[0].points.allSatisfy { abs(($0.limit ?? 0) - 1000) < 1e-6 })
        let decode = try #require(report.sections[1].charts.first as? LineChart)
        #expect(decode.series.map(\.name) == ["sequences 1", "sequences 4"])
        #expect(decode.series[0].points.map(\.y) == [100, 90])
        #expect(report.html.contains("&lt;m&gt;.gguf") && report.html.contains("a &amp; b"))
    }

    @Test func `a limit far above the results is named, and does not flatten them`() {
        func chart(_ limit: Double) -> LineChart {
            LineChart(
                title: "t", xName: "x", unit: "u",
                series: [
                    .init(name: "s", points: [.init(x: "1", y: 10, limit: limit), .init(x: "2", y: 12, limit: limit)])
                ])
        }
        #expect(chart(20).svg.contains("stroke-dasharray") && chart(20).svg.contains("limit of the machine"))
        #expect(chart(1000).svg.contains("limit above: 1,000"))
    }

    @Test func `a histogram counts all values, and has the percentiles`() throws {
        let values = (1...200).map { Double($0) } + [100_000.0]
        let svg = Histogram(title: "h", unit: "ms", values: values, objective: 150).svg
        let counts = svg.matches(of: /: ([0-9]+)<\/title>/).compactMap { Int($0.1) }
        #expect(counts.reduce(0, +) == 201)
        #expect(svg.contains("p50 101") && svg.contains("p95 191") && svg.contains("objective 150"))
        #expect(Histogram(title: "h", unit: "ms", values: []).svg.contains("<svg"))
        #expect(Histogram(title: "h", unit: "ms", values: [0, 0]).svg.contains("p50 0"))
    }

    @Test func `pages of the other commands`() throws {
        let outputs = [
            PrefixCommand.Output(
                prompt: 1000, cold: 1, memory: 0.01, restart: 0.05, share: 0.05, read: 992, bytes: 1 << 20)
        ]
        try check(PrefixReport.report(outputs, model: "m").html)
        let pair = CompareCommand.Pair(.init(prompt: 8), threads: 2, model: "", [10, 10.1, 9.9], [12, 12.1, 11.9])
        let compared = CompareReport.report([pair], ["A: a", "B: b"])
        try check(compared.html)
        #expect(compared.html.contains("+20 %"))
        let answer = ServeClient.Answer(
            text: "", arrivals: [0.1, 0.2, 0.4], seconds: 0.5, usage: .init(promptTokens: 10, completionTokens: 3))
        let command = try ServeCommand(Arguments(["--url", "http://a"], options: ServeCommand.options))
        let result = ServeResult(clients: 1, rate: 2.5, [.init(turn: 0, outcome: .success(answer))], seconds: 1)
        let served = ServeReport.report([result], of: command, model: "m")
        try check(served.html)
        #expect(served.sections.map(\.title) == ["Throughput and latency", "2.5 conversations per second"])
    }

    @Test(arguments: [(0.0, "0"), (0.05, "0.05"), (1.5, "1.5"), (12.34, "12.3"), (1234.4, "1,234"), (100, "100")])
    func `numbers have as many digits as one reads`(_ value: Double, _ text: String) { #expect(number(value) == text) }
}

@Suite struct SpeedHistoryTests {
    private let directory: TemporaryDirectory
    private let history: SpeedHistory

    init() throws {
        directory = try TemporaryDirectory()
        history = SpeedHistory(file: directory.url.appending(path: "folder/runs.jsonl"))
    }

    private func run(_ model: String, prompt: Int = 8, speed: Double) -> [SpeedResult] {
        [
            SpeedResult(
                kernels: "portable", modelFilename: model, modelType: "t", modelBytes: 1, modelParameters: 1,
                threads: 2,
                prompt: prompt, generated: 0, depth: 0, testTime: Date(timeIntervalSince1970: 0),
                samplesNanoseconds: [1],
                meanNanoseconds: 1, deviationNanoseconds: 0, samplesTokensPerSecond: [speed],
                meanTokensPerSecond: speed,
                deviationTokensPerSecond: 0, loadSeconds: 0, firstTokenSeconds: 0, peakResidentBytes: 1)
        ]
    }

    @Test func `the last run is compared with the one before it that has the same tests`() throws {
        #expect(throws: BenchError.self) { try history.lastTwo() }
        try history.add(run("a", speed: 1))
        #expect(throws: BenchError.self) { try history.lastTwo() }
        try history.add(run("a", prompt: 16, speed: 2))
        try history.add(run("b", speed: 3))
        try history.add(run("a", speed: 4))
        let (earlier, last) = try history.lastTwo()
        #expect(earlier.map(\.mean) == [1] && last.map(\.mean) == [4])
        #expect(try history.lastTwo(comparing: earlier).1.map(\.mean) == [4])
    }

    @Test func `lines that cannot be read are left out, and old runs dropped`() throws {
        try history.add(run("a", speed: 1))
        try FileHandle(forWritingTo: history.file).write(contentsOf: Data("{broken\n".utf8))
        try history.add(run("a", speed: 2))
        try history.add(run("a", speed: 3))
        #expect(history.runs.map { $0.map(\.mean) } == [[2], [3]])
        for _ in 0..<210 { try history.add(run("a", speed: 5)) }
        #expect(history.runs.count == 200)
    }
}
