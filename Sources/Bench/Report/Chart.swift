import Foundation

/// A drawing for a report.
protocol Chart {
    var title: String { get }
    var svg: String { get }
}

/// The plot's place in a drawing, which is 560 units wide.
struct Plot {
    static let width = 560.0
    var left = 56.0
    var right = 24.0
    var top = 14.0
    var bottom = 42.0
    var height = 260.0

    var area: (x: ClosedRange<Double>, y: ClosedRange<Double>) {
        (left...(Self.width - right), top...(height - bottom))
    }

    /// A whole drawing. `label` describes it to those who do not see it.
    func svg(_ parts: [String], label: String) -> String {
        """
        <svg viewBox="0 0 \(Int(Self.width)) \(Int(height))" role="img" aria-label="\(label.escaped)">
        \(parts.joined(separator: "\n"))
        </svg>
        """
    }

    /// Lines across the plot at the values of a vertical axis, with their labels.
    func rows(_ axis: Axis) -> [String] {
        axis.ticks.map { tick in
            let y = axis.place(tick)
            return Shape.line(area.x.lowerBound, y, area.x.upperBound, y, "grid")
                + Shape.text(left - 6, y + 4, number(tick), anchor: "end")
        }
    }
}

/// An axis with numbers: linear from zero, or logarithmic.
struct Axis {
    let range: ClosedRange<Double>
    let isLogarithmic: Bool
    let ticks: [Double]
    /// Where the ends of the range are in the drawing.
    private let ends: (Double, Double)

    /// - Parameters:
    ///   - low: Where the axis begins if it is linear.
    ///   - isWhole: Whether the values are counts.
    ///   - ends: Places of the beginning and of the end.
    init(
        _ values: [Double], from low: Double = 0, isLogarithmic: Bool = false, isWhole: Bool = false,
        ends: (Double, Double)
    ) {
        self.isLogarithmic = isLogarithmic
        self.ends = ends
        let values = values.filter { $0.isFinite && (!isLogarithmic || $0 > 0) }
        if isLogarithmic {
            let low = pow(10, floor(log10(values.min() ?? 1)))
            let high = max(low * 10, pow(10, ceil(log10(values.max() ?? 1))))
            range = low...high
            ticks = (0...Int((log10(high / low)).rounded())).map { low * pow(10, Double($0)) }
        } else {
            let high = max(values.max() ?? 1, low + 1e-9)
            let step = Self.step(max((high - low) / 5, isWhole ? 1 : 0))
            let count = max(1, Int(((high - low) / step).rounded(.up)))
            range = low...(low + Double(count) * step)
            ticks = (0...count).map { low + Double($0) * step }
        }
    }

    /// 1, 2 or 5 times a power of ten, at least `least`.
    private static func step(_ least: Double) -> Double {
        let power = pow(10, floor(log10(max(least, 1e-12))))
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= least * 0.999 } ?? 10 * power
    }

    func place(_ value: Double) -> Double {
        let (low, high) = (range.lowerBound, range.upperBound)
        let value = min(max(value, low), high)
        let share = isLogarithmic ? log(value / low) / log(high / low) : (value - low) / (high - low)
        return ends.0 + share * (ends.1 - ends.0)
    }
}

/// A number with as many digits as one reads.
func number(_ value: Double) -> String {
    switch abs(value) {
    case 0: return "0"
    case 100...: return Int(value.rounded()).formatted(.number.locale(Locale(identifier: "en_US")))
    case 10..<100: return trimmed(String(format: "%.1f", value))
    case 0.1..<10: return trimmed(String(format: "%.2f", value))
    default: return trimmed(String(format: "%.4f", value))
    }
}

private func trimmed(_ text: String) -> String {
    guard text.contains(".") else { return text }
    let digits = text.reversed().drop { $0 == "0" }
    return String((digits.first == "." ? digits.dropFirst() : digits).reversed())
}

/// Elements of a drawing.
enum Shape {
    /// Colours that differ; further series have them again.
    static func color(_ index: Int) -> String { "var(--s\(index % 6))" }

    static func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ kind: String) -> String {
        #"<line class="\#(kind)" x1="\#(x1.short)" y1="\#(y1.short)" x2="\#(x2.short)" y2="\#(y2.short)"/>"#
    }

    static func text(
        _ x: Double, _ y: Double, _ text: String, anchor: String = "start", kind: String = "", color: String? = nil
    ) -> String {
        let style = color.map { #" style="fill: \#($0)""# } ?? ""
        return
            #"<text class="\#(kind)" x="\#(x.short)" y="\#(y.short)" text-anchor="\#(anchor)"\#(style)>\#(text.escaped)</text>"#
    }

    /// Points joined by straight lines.
    static func path(_ points: [(Double, Double)], color: String, dashes: Bool = false) -> String {
        let steps = points.enumerated().map { "\($0 == 0 ? "M" : "L")\($1.0.short) \($1.1.short)" }
        let pattern = dashes ? #" stroke-dasharray="5 4""# : ""
        return
            #"<path d="\#(steps.joined())" fill="none" stroke="\#(color)" stroke-width="\#(dashes ? "1.5" : "2")"\#(pattern)/>"#
    }

    /// A dot that shows a text when the pointer is over it.
    static func dot(_ x: Double, _ y: Double, color: String, says text: String) -> String {
        #"<circle cx="\#(x.short)" cy="\#(y.short)" r="4" fill="\#(color)"><title>\#(text.escaped)</title></circle>"#
    }

    static func bar(
        x: Double, y: Double, width: Double, height: Double, color: String, says text: String
    ) -> String {
        #"<rect x="\#(x.short)" y="\#(y.short)" width="\#(max(width, 0).short)" height="\#(max(height, 0).short)" "#
            + #"fill="\#(color)"><title>\#(text.escaped)</title></rect>"#
    }
}

extension Double {
    /// With one decimal, for coordinates.
    fileprivate var short: String { String(format: "%.1f", self) }
}
