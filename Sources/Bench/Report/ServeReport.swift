import Foundation

/// The page of `bench serve`.
enum ServeReport {
    static func report(_ results: [ServeResult], of command: ServeCommand, model: String) -> Report {
        let load =
            "prompts of about \(command.prompt) tokens, answers of at most \(command.generate), "
            + "\(command.turns) \(command.turns == 1 ? "turn" : "turns")"
        return Report(
            title: "\(model) under load",
            facts: ["\(command.url.absoluteString): \(load)", command.objective.description],
            sections: [overview(results)] + results.map { times($0, command.objective) })
    }

    private static func overview(_ results: [ServeResult]) -> Report.Section {
        let isOpen = results.contains { $0.rate != nil }
        let xName = isOpen ? "requests that arrive per second" : "clients at once"
        func chart(_ title: String, _ unit: String, _ series: [(String, (ServeResult) -> Double?)]) -> LineChart {
            LineChart(
                title: title, xName: xName, unit: unit,
                series: series.map { name, value in
                    .init(
                        name: name,
                        points: results.compactMap { result in
                            value(result).map { .init(x: result.label, y: $0) }
                        })
                })
        }
        return .init(
            title: "Throughput and latency",
            text: "Goodput counts the requests that met the objective.",
            charts: [
                chart("Throughput", "tokens/s", [("all answers", { $0.tokensPerSecond })]),
                chart(
                    "Requests", "requests/s",
                    [("completed", { $0.requestsPerSecond }), ("goodput", { $0.goodput })]),
                chart(
                    "First token", "ms",
                    [
                        ("p50", { $0.firstToken.map { 1000 * $0.p50 } }),
                        ("p95", { $0.firstToken.map { 1000 * $0.p95 } }),
                        ("p99", { $0.firstToken.map { 1000 * $0.p99 } }),
                    ]),
                chart(
                    "Between tokens", "ms",
                    [
                        ("p50", { $0.betweenTokens.map { 1000 * $0.p50 } }),
                        ("p95", { $0.betweenTokens.map { 1000 * $0.p95 } }),
                        ("p99", { $0.betweenTokens.map { 1000 * $0.p99 } }),
                    ]),
            ], table: ServeTable.counts(results))
    }

    private static func times(_ result: ServeResult, _ objective: ServeResult.Objective) -> Report.Section {
        func histogram(_ title: String, _ seconds: [Double], _ objective: Double? = nil) -> Histogram? {
            seconds.isEmpty
                ? nil : Histogram(title: title, unit: "ms", values: seconds.map { 1000 * $0 }, objective: objective)
        }
        let charts = [
            histogram("Time to the first token", result.times.firstToken, 1000 * objective.firstToken),
            histogram("Time to the first token, later turns", result.times.firstTokenOfLaterTurns),
            histogram("Time between tokens", result.times.betweenTokens),
            histogram("Time of a whole answer", result.times.wholeAnswer),
        ]
        return .init(
            title: result.name,
            text: "How many requests, or tokens, took how long.", charts: charts.compactMap(\.self))
    }
}
