import Foundation

/// The page of `bench prefix`.
enum PrefixReport {
    static func report(_ outputs: [PrefixCommand.Output], model: String) -> Report {
        func series(_ name: String, _ seconds: (PrefixCommand.Output) -> Double) -> LineChart.Series {
            .init(name: name, points: outputs.map { .init(x: "\($0.prompt)", y: 1000 * seconds($0)) })
        }
        let rows = outputs.map { output in
            [
                "\(output.prompt)", number(1000 * output.cold), number(1000 * output.memory),
                number(1000 * output.restart),
                "\(number(100 * output.share)) %", "\(output.read)", SpeedTable.binary(output.bytes),
            ]
        }
        return Report(
            title: "Prompts that were computed before", facts: [model],
            sections: [
                .init(
                    title: "Time to the first token",
                    text:
                        "Of a prompt that is new, of the same prompt a second time, and after a restart that finds it on disk.",
                    charts: [
                        LineChart(
                            title: "Time to the first token", xName: "tokens of the prompt", unit: "ms, logarithmic",
                            series: [
                                series("new", \.cold), series("in memory", \.memory),
                                series("on disk, restarted", \.restart),
                            ],
                            isLogarithmic: true)
                    ],
                    table: [["prompt", "new, ms", "in memory, ms", "on disk, ms", "disk / new", "tokens read", "size"]]
                        + rows)
            ])
    }
}
