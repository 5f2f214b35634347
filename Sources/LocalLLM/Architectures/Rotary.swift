import Foundation

/// Rotary position embedding of a model: its frequencies after scaling.
struct Rotary: Sendable, Equatable {
    /// Which coordinate of its `Place` turns a pair.
    enum Axis: Sendable {
        case time, row, column
    }

    /// How a model trained on short texts is stretched to longer ones.
    enum Scaling: Sendable, Equatable {
        case none
        /// All positions divided by `factor` (Chen et al. 2023).
        case linear(factor: Double, magnitude: Double = 1)
        /// Slow dimensions interpolated, fast ones kept, a ramp between (YaRN, Peng et al. 2023).
        ///
        /// The ramp begins and ends at whole pairs, unless `roundsRamp` is false.
        case yarn(
            factor: Double, originalContext: Int, betaFast: Double, betaSlow: Double, attentionFactor: Double,
            roundsRamp: Bool = true)
    }

    /// What `rope.dimension_sections` means: the parts of a head that have positions of their own.
    enum Sections: Sendable {
        case none
        /// Pairs of the same part follow each other.
        case consecutive
        /// Pairs of the first three parts alternate.
        case interleaved
    }

    let layout: RotaryLayout
    /// Radians a position, one a pair.
    let frequencies: [Double]
    /// By pair; `nil`: all turn by their time.
    let axes: [Axis]?
    /// Multiplies cosines and sines: YaRN's attention temperature.
    let magnitude: Double

    /// - Parameters:
    ///   - width: Values of a head that are rotated.
    ///   - factors: Divides each frequency: the tensor `rope_freqs.weight`, which holds Llama 3's scaling by frequency.
    ///   - axes: By pair; pairs without one do not turn. `nil`: all turn by their time.
    init(
        layout: RotaryLayout, width: Int, base: Double, scaling: Scaling, factors: [Float]?, axes: [Axis?]? = nil
    ) {
        self.layout = layout
        self.axes = axes?.map { $0 ?? .time }
        let plain = (0..<width / 2).map { pair -> Double in
            if let axes, axes[pair] == nil { return 0 }
            return pow(base, -2 * Double(pair) / Double(width)) / Double(factors?[pair] ?? 1)
        }
        switch scaling {
        case .none:
            frequencies = plain
            magnitude = 1
        case .linear(let factor, let magnitude):
            frequencies = plain.map { $0 / factor }
            self.magnitude = magnitude
        case .yarn(let factor, let context, let betaFast, let betaSlow, let attentionFactor, let roundsRamp):
            // The pair whose wave turns `turns` times over the original context.
            func pair(turning turns: Double) -> Double {
                Double(width) * log(Double(context) / (turns * 2 * .pi)) / (2 * log(base))
            }
            let (first, last) = (pair(turning: betaFast), pair(turning: betaSlow))
            let low = max(0, roundsRamp ? first.rounded(.down) : first)
            let high = min(Double(width - 1), roundsRamp ? last.rounded(.up) : last)
            frequencies = plain.enumerated().map { pair, frequency in
                let ramp = min(1, max(0, (Double(pair) - low) / max(0.001, high - low)))
                return frequency * (1 - ramp) + frequency / factor * ramp
            }
            magnitude = attentionFactor * (1 + 0.1 * log(factor))
        }
    }

    /// Angles that a picture's patches turn by.
    init(layout: RotaryLayout, frequencies: [Double], axes: [Axis]) {
        self.layout = layout
        self.frequencies = frequencies
        self.axes = axes
        magnitude = 1
    }

    /// Cosine and sine of every pair at each row's position.
    ///
    /// - Parameter index: Of this one among the network's, each of which has memory of its own.
    func angles(of positions: [Int32], in work: Workspace, index: Int) -> RotaryAngles {
        angles(rows: positions.count, in: work, index: index) { row, _ in positions[row] }
    }

    /// The same of rows whose place may have more than one coordinate.
    func angles(of places: [Place], in work: Workspace, index: Int) -> RotaryAngles {
        angles(rows: places.count, in: work, index: index) { row, pair in
            switch axes?[pair] {
            case nil, .time: places[row].time
            case .row: places[row].row
            case .column: places[row].column
            }
        }
    }

    private func angles(
        rows: Int, in work: Workspace, index: Int, position: (_ row: Int, _ pair: Int) -> Int32
    ) -> RotaryAngles {
        let both = work.angles(index, rows, 2 * frequencies.count)
        let cosines = Matrix(both.base, rows: both.rows, columns: frequencies.count, stride: both.stride)
        let sines = Matrix(
            both.base + frequencies.count, rows: both.rows, columns: frequencies.count, stride: both.stride)
        for row in 0..<rows {
            for (pair, frequency) in frequencies.enumerated() {
                let angle = Double(position(row, pair)) * frequency
                cosines[row][pair] = Float(cos(angle) * magnitude)
                sines[row][pair] = Float(sin(angle) * magnitude)
            }
        }
        return RotaryAngles(layout: layout, cosines: cosines, sines: sines)
    }
}
