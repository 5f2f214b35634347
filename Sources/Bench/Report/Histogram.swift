/// How often values are how large, with percentiles drawn in.
struct Histogram: Chart {
    let title: String
    let unit: String
    let values: [Double]
    /// What is asked of the values, drawn in.
    var objective: Double?

    private static let bins = 32

    var svg: String {
        let plot = Plot()
        guard let least = values.min(), let most = values.max() else { return plot.svg([], label: title) }
        // The last few values may be far away; they are counted in the last bar.
        let end = max(values.percentile(99) * 1.1, least + max((most - least) / 1000, 1e-9))
        let horizontal = Axis([min(most, end)], ends: (plot.area.x.lowerBound, plot.area.x.upperBound))
        let width = horizontal.range.upperBound / Double(Self.bins)
        var counts = [Int](repeating: 0, count: Self.bins)
        for value in values { counts[min(Self.bins - 1, max(0, Int(value / width)))] += 1 }
        let vertical = Axis(
            counts.map(Double.init), isWhole: true, ends: (plot.area.y.upperBound, plot.area.y.lowerBound + 14))
        var parts = plot.rows(vertical)
        for (index, count) in counts.enumerated() where count > 0 {
            let (x1, x2) = (horizontal.place(width * Double(index)), horizontal.place(width * Double(index + 1)))
            let y = vertical.place(Double(count))
            let above = index == Self.bins - 1 && most > horizontal.range.upperBound ? " and more" : ""
            parts.append(
                Shape.bar(
                    x: x1, y: y, width: x2 - x1 - 1, height: plot.area.y.upperBound - y, color: Shape.color(0),
                    says:
                        "\(number(width * Double(index))) to \(number(width * Double(index + 1))) \(unit)\(above): \(count)"
                ))
        }
        for tick in horizontal.ticks {
            parts.append(
                Shape.text(horizontal.place(tick), plot.area.y.upperBound + 16, number(tick), anchor: "middle"))
        }
        parts.append(Shape.text(Plot.width / 2, plot.height - 8, unit, anchor: "middle"))
        parts += marks(plot, horizontal)
        return plot.svg(
            parts, label: "\(title): " + percentiles.map { "\($0.0) \(number($0.1))" }.joined(separator: ", "))
    }

    private var percentiles: [(String, Double)] {
        [("p50", values.percentile(50)), ("p95", values.percentile(95)), ("p99", values.percentile(99))]
    }

    private func marks(_ plot: Plot, _ axis: Axis) -> [String] {
        let objectives = objective.map { [("objective", $0)] } ?? []
        var lastEnd = -Double.infinity
        var row = 0.0
        return (percentiles + objectives.filter { $0.1 <= axis.range.upperBound }).map { name, value in
            let x = axis.place(value)
            // Labels that would overlap are below one another.
            row = x < lastEnd ? row + 1 : 0
            lastEnd = x + 90
            let color = Shape.color(name == "objective" ? 4 : 1)
            return Shape.path(
                [(x, plot.area.y.lowerBound), (x, plot.area.y.upperBound)], color: color, dashes: name == "objective")
                + Shape.text(
                    min(x + 4, Plot.width - 92), plot.area.y.lowerBound + 9 + 13 * row, "\(name) \(number(value))",
                    kind: "value")
        }
    }
}

/// Differences in percent, with the range that is noise.
struct DifferenceChart: Chart {
    struct Row {
        let name: String
        let percent: Double
        /// Percent in both directions; `nil`: unknown.
        let noise: Double?
    }

    let title: String
    let rows: [Row]

    var svg: String {
        let step = 26.0
        let plot = Plot(left: 170, right: 60, bottom: 36, height: 60 + step * Double(rows.count))
        let most = rows.map { max(abs($0.percent), $0.noise ?? 0) }.max() ?? 1
        let axis = Axis([max(most, 0.5)], ends: (0, (plot.area.x.upperBound - plot.area.x.lowerBound) / 2))
        let middle = (plot.area.x.lowerBound + plot.area.x.upperBound) / 2
        func place(_ percent: Double) -> Double { middle + (percent < 0 ? -1 : 1) * axis.place(abs(percent)) }
        var parts: [String] = []
        // Labels of many ticks would overlap.
        let labelled = axis.ticks.enumerated().filter { axis.ticks.count < 5 || $0.offset % 2 == 0 }.map(\.element)
        for tick in Set(axis.ticks + axis.ticks.map { -$0 }).sorted() {
            let kind = tick == 0 ? "axis" : "grid"
            parts.append(Shape.line(place(tick), plot.area.y.lowerBound, place(tick), plot.area.y.upperBound, kind))
            guard labelled.contains(abs(tick)) else { continue }
            let sign = tick > 0 ? "+" : ""
            parts.append(
                Shape.text(place(tick), plot.area.y.upperBound + 16, "\(sign)\(number(tick)) %", anchor: "middle"))
        }
        for (index, row) in rows.enumerated() {
            let y = plot.area.y.lowerBound + step * (Double(index) + 0.5)
            parts.append(Shape.text(plot.left - 8, y + 4, row.name, anchor: "end"))
            if let noise = row.noise {
                parts.append(
                    Shape.bar(
                        x: place(-noise), y: y - 7, width: place(noise) - place(-noise), height: 14,
                        color: "var(--noise)", says: "noise: ± \(number(noise)) %"))
            }
            let isBeyond = row.noise.map { abs(row.percent) > $0 } ?? false
            let color = !isBeyond ? "var(--soft)" : Shape.color(row.percent > 0 ? 2 : 4)
            let text = (row.percent > 0 ? "+" : "") + number(row.percent) + " %"
            parts.append(Shape.dot(place(row.percent), y, color: color, says: "\(row.name): \(text)"))
            parts.append(Shape.text(Plot.width - 2, y + 4, text, anchor: "end", kind: "value"))
        }
        let texts = rows.map { "\($0.name) \(number($0.percent)) %" }
        return plot.svg(parts, label: "\(title): " + texts.joined(separator: ", "))
    }
}
