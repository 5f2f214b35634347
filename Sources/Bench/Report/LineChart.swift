/// Curves over a few values, with their deviations and limits.
struct LineChart: Chart {
    struct Point {
        /// The value on the horizontal axis, as a label.
        let x: String
        let y: Double
        var deviation = 0.0
        /// What the machine allows at most.
        var limit: Double?
    }

    struct Series {
        let name: String
        let points: [Point]
    }

    let title: String
    /// What the labels on the horizontal axis are.
    let xName: String
    let unit: String
    let series: [Series]
    var isLogarithmic = false

    /// The labels of all series in the order of their first appearance: the values are equally far apart.
    private var labels: [String] {
        series.flatMap(\.points).reduce(into: [String]()) { if !$0.contains($1.x) { $0.append($1.x) } }
    }

    /// Limits far above the results would flatten them; then they are only named.
    private var showsLimits: Bool {
        let points = series.flatMap(\.points)
        return (points.compactMap(\.limit).max() ?? 0) <= 6 * (points.map(\.y).max() ?? 0)
    }

    /// The limits if they are the same for all series, by label.
    private var commonLimits: [(x: String, limit: Double)]? {
        let points = series.flatMap(\.points)
        let limits = labels.map { label in points.filter { $0.x == label }.compactMap(\.limit) }
        let areSame = limits.allSatisfy { values in
            guard let least = values.min(), let most = values.max() else { return false }
            return most - least < 0.01 * most
        }
        return areSame && series.count > 1 ? zip(labels, limits).map { ($0, $1[0]) } : nil
    }

    var svg: String {
        let legendRows = Double((legend.count + 1) / 2)
        let plot = Plot(right: 48, bottom: 42 + 18 * legendRows, height: 260 + 18 * legendRows)
        let points = series.flatMap(\.points)
        let axis = Axis(
            points.map { $0.y + $0.deviation } + (showsLimits ? points.compactMap(\.limit) : []),
            isLogarithmic: isLogarithmic,
            ends: (plot.area.y.upperBound, plot.area.y.lowerBound))
        var parts = plot.rows(axis)
        parts.append(Shape.text(plot.left, 10, unit))
        let places = Dictionary(
            uniqueKeysWithValues: labels.enumerated().map { index, label in (label, place(index, plot)) })
        for label in labels {
            parts.append(Shape.text(places[label] ?? 0, plot.area.y.upperBound + 16, label, anchor: "middle"))
        }
        parts.append(
            Shape.text(Plot.width / 2, plot.area.y.upperBound + 34, xName, anchor: "middle"))
        for (index, series) in series.enumerated() {
            parts += draw(series, Shape.color(index), places, axis)
        }
        if showsLimits, let common = commonLimits {
            parts.append(dashes(common.map { (places[$0.x] ?? 0, axis.place($0.limit)) }, Self.commonColor))
        }
        parts += lastValues(places, axis)
        parts += drawLegend(plot)
        return plot.svg(parts, label: summary)
    }

    private func place(_ index: Int, _ plot: Plot) -> Double {
        let (low, high) = (plot.area.x.lowerBound + 24, plot.area.x.upperBound - 24)
        return labels.count == 1 ? (low + high) / 2 : low + (high - low) * Double(index) / Double(labels.count - 1)
    }

    private func draw(_ series: Series, _ color: String, _ places: [String: Double], _ axis: Axis) -> [String] {
        func x(_ point: Point) -> Double { places[point.x] ?? 0 }
        var parts = [Shape.path(series.points.map { (x($0), axis.place($0.y)) }, color: color)]
        if showsLimits, commonLimits == nil {
            parts.append(
                dashes(
                    series.points.compactMap { point in point.limit.map { (x(point), axis.place($0)) } }, color))
        }
        for point in series.points {
            let low = axis.place(point.y - point.deviation)
            let high = axis.place(point.y + point.deviation)
            if point.deviation > 0 { parts.append(Shape.path([(x(point), low), (x(point), high)], color: color)) }
            let deviation = point.deviation > 0 ? " ± \(number(point.deviation))" : ""
            let limit = point.limit.map { ", limit \(number($0))" } ?? ""
            parts.append(
                Shape.dot(
                    x(point), axis.place(point.y), color: color,
                    says: "\(series.name), \(xName) \(point.x): \(number(point.y))\(deviation) \(unit)\(limit)"))
        }
        return parts
    }

    private static let commonColor = "var(--soft)"

    /// The limit at a single value is a short line.
    private func dashes(_ points: [(Double, Double)], _ color: String) -> String {
        guard let first = points.first else { return "" }
        let ends = points.count == 1 ? [(first.0 - 20, first.1), (first.0 + 20, first.1)] : points
        return Shape.path(ends, color: color, dashes: true)
    }

    /// The last value of each series beside its point, one below the other where they would overlap.
    private func lastValues(_ places: [String: Double], _ axis: Axis) -> [String] {
        let lasts = series.compactMap(\.points.last).map {
            (x: (places[$0.x] ?? 0) + 9, y: axis.place($0.y) + 4, value: $0.y)
        }
        var lowest: [Double: Double] = [:]
        return lasts.sorted { $0.y < $1.y }.map { last in
            let y = max(last.y, (lowest[last.x] ?? -.infinity) + 13)
            lowest[last.x] = y
            return Shape.text(last.x, y, number(last.value), kind: "value")
        }
    }

    /// Names of the series, and of limits that are not in the drawing.
    private var legend: [(text: String, color: String, isDashed: Bool)] {
        var entries: [(text: String, color: String, isDashed: Bool)] = []
        for (index, series) in series.enumerated() {
            let color = Shape.color(index)
            entries.append((series.name, color, false))
            if commonLimits == nil, let most = series.points.compactMap(\.limit).max() {
                entries.append((showsLimits ? "limit of the machine" : "limit above: \(number(most))", color, true))
            }
        }
        if let most = commonLimits?.map(\.limit).max() {
            entries.append(
                (showsLimits ? "limit of the machine" : "limit above: \(number(most))", Self.commonColor, true))
        }
        return entries
    }

    private func drawLegend(_ plot: Plot) -> [String] {
        legend.enumerated().map { index, entry in
            let x = plot.left + (index % 2 == 0 ? 0 : 250)
            let y = plot.area.y.upperBound + 54 + 18 * Double(index / 2)
            return Shape.path([(x, y - 4), (x + 22, y - 4)], color: entry.color, dashes: entry.isDashed)
                + Shape.text(x + 28, y, entry.text)
        }
    }

    private var summary: String {
        let texts = series.map { series in
            series.name + ": " + series.points.map { "\($0.x) \(number($0.y))" }.joined(separator: ", ")
        }
        return "\(title) in \(unit), by \(xName). " + texts.joined(separator: "; ")
    }
}
