import Foundation

/// The page of `bench speed`.
enum SpeedReport {
    /// - Parameter results: At least one.
    static func report(_ results: [SpeedResult]) -> Report {
        let names = Set(results.map(\.modelType)).sorted().joined(separator: ", ")
        let machine = results.last.map { machineFacts($0) } ?? []
        return Report(
            title: "Speed of \(names)",
            facts: results.prefix(1).flatMap { first in
                [
                    "\(first.modelFilename), \(SpeedTable.binary(first.modelBytes))",
                    "\(first.cpu), kernels \(first.kernels)"
                        + (first.buildCommit == "unknown" ? "" : ", build \(first.buildCommit)"),
                ]
            } + machine,
            sections: [prefill(results), decodeByDepth(results), decodeByBatch(results)].compactMap(\.self)
                + [table(results)])
    }

    private static func machineFacts(_ result: SpeedResult) -> [String] {
        guard let read = result.machineReadBandwidth, let float = result.machineFloatPeak,
            let byte = result.machineBytePeak
        else { return [] }
        return [
            "This machine with \(result.threads) threads: \(number(read / 1e9)) GB/s from memory, "
                + "\(number(float / 1e9)) GFLOP/s, \(number(byte / 1e9)) GOP/s in 8-bit integers"
        ]
    }

    private static func prefill(_ results: [SpeedResult]) -> Report.Section? {
        let tests = results.filter { $0.prompt > 0 && $0.generated == 0 }
        let chart = chart(
            "By length of the prompt", "tokens of the prompt", tests, by: \.prompt,
            apart: [("depth", \.depth), ("sequences", \.batch)])
        return chart.map {
            .init(
                title: "Prefill",
                text:
                    "Tokens of the prompt per second. The dashed line is what the processor's peak rate allows for the "
                    + "matrix products alone, without attention.",
                charts: [$0])
        }
    }

    private static func decodeByDepth(_ results: [SpeedResult]) -> Report.Section? {
        let tests = results.filter { $0.generated > 0 }
        let chart = chart(
            "By depth", "tokens in the context", tests, by: \.depth, apart: [("sequences", \.batch)])
        return chart.map {
            .init(
                title: "Decode",
                text:
                    "Generated tokens per second of all sequences together. The dashed line is what reading the weights and "
                    + "the keys and values once per step allows at the measured bandwidth of the memory. Weights that fit into "
                    + "the processor's caches are read faster than that.",
                charts: [$0])
        }
    }

    private static func decodeByBatch(_ results: [SpeedResult]) -> Report.Section? {
        let tests = results.filter { $0.generated > 0 }
        guard Set(tests.map(\.batch)).count > 1 else { return nil }
        let chart = chart("By sequences", "sequences at once", tests, by: \.batch, apart: [("depth", \.depth)])
        return chart.map {
            .init(
                title: "Batches", text: "A step computes a token of each sequence, and reads the weights once for all.",
                charts: [$0])
        }
    }

    /// - Parameters:
    ///   - by: What the horizontal axis has.
    ///   - apart: Names and values by which results are different curves.
    /// - Returns: `nil` without results.
    private static func chart(
        _ title: String, _ xName: String, _ results: [SpeedResult], by value: (SpeedResult) -> Int,
        apart: [(String, (SpeedResult) -> Int)]
    ) -> LineChart? {
        guard !results.isEmpty else { return nil }
        let kinds: [(String, (SpeedResult) -> Int)] = apart + [("threads", \.threads), ("tokens", \.generated)]
        let differing = kinds.filter { kind in Set(results.map(kind.1)).count > 1 }
        var series: [(name: String, results: [SpeedResult])] = []
        for result in results.sorted(by: { value($0) < value($1) }) {
            let parts = differing.map { "\($0.0) \($0.1(result))" }
            let name = parts.isEmpty ? "measured" : parts.joined(separator: ", ")
            if let index = series.firstIndex(where: { $0.name == name }) {
                series[index].results.append(result)
            } else {
                series.append((name, [result]))
            }
        }
        return LineChart(
            title: title, xName: xName, unit: "tokens/s",
            series: series.map { name, results in
                LineChart.Series(
                    name: name,
                    points: results.map { result in
                        .init(
                            x: "\(value(result))", y: result.meanTokensPerSecond,
                            deviation: result.deviationTokensPerSecond,
                            limit: result.limitingFraction.map { result.meanTokensPerSecond / $0 })
                    })
            })
    }

    private static func table(_ results: [SpeedResult]) -> Report.Section {
        let rows = results.map { result in
            [
                result.test.name, "\(result.threads)", number(result.meanTokensPerSecond),
                "± " + number(result.deviationTokensPerSecond), number(1000 * result.firstTokenSeconds),
                SpeedTable.share(result), SpeedTable.binary(result.peakResidentBytes),
            ]
        }
        return .init(
            title: "All results", text: SpeedTable.remarks(results).joined(separator: " "),
            table: [["test", "threads", "tokens/s", "deviation", "first token, ms", "of machine", "peak memory"]] + rows
        )
    }
}
