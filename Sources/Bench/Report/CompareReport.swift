/// The page of `bench compare`.
enum CompareReport {
    static func report(_ pairs: [CompareCommand.Pair], _ origins: [String]) -> Report {
        let rows = pairs.map { pair in
            DifferenceChart.Row(
                name: (pair.model.isEmpty ? "" : "\(pair.model), ") + pair.test, percent: 100 * (pair.ratioOfMeans - 1),
                noise: pair.noise.map { 100 * $0 })
        }
        let table = pairs.map { pair in
            [
                pair.test, "\(pair.threads)", number(pair.means[0]), number(pair.means[1]),
                pair.noise.map { "± \(number(100 * $0)) %" } ?? "unknown", pair.verdict,
            ]
        }
        return Report(
            title: "Two runs of bench speed", facts: origins,
            sections: [
                .init(
                    title: "B compared with A", text: CompareCommand.words(pairs, width: nil),
                    charts: [DifferenceChart(title: "How much faster B is; the band is noise", rows: rows)],
                    table: [["test", "threads", "A, tokens/s", "B, tokens/s", "noise", "B is"]] + table)
            ])
    }
}
