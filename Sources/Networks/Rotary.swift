import Compute
import Foundation

/// A rotary position embedding: its frequencies after scaling.
struct Rotary: Sendable, Equatable {
    /// The coordinate of a `RotaryPosition` that rotates a pair.
    enum Axis: Sendable {
        case time, row, column
    }

    /// Extension to contexts longer than in training.
    enum Scaling: Sendable, Equatable {
        case none
        /// Divides all positions by `factor` (Chen et al. 2023).
        case linear(factor: Double, magnitude: Double = 1)
        /// Interpolates low frequencies and keeps high ones, with a ramp between (YaRN, Peng et al. 2023).
        ///
        /// The ramp begins and ends at whole pairs, unless `roundsRamp` is false.
        case yarn(
            factor: Double, originalContext: Int, betaFast: Double, betaSlow: Double, attentionFactor: Double,
            roundsRamp: Bool = true)
    }

    /// The meaning of `rope.dimension_sections`: parts of a head with separate positions.
    enum Sections: Sendable {
        case none
        /// Pairs of a part are consecutive.
        case consecutive
        /// Pairs of the first three parts alternate.
        case interleaved
    }

    let layout: RotaryLayout
    /// Radians per position, for each pair.
    let frequencies: [Double]
    /// Axis of each pair; `nil`: all pairs use `time`.
    let axes: [Axis]?
    /// Factor on cosines and sines: YaRN's attention temperature.
    let magnitude: Double

    /// - Parameters:
    ///   - width: Number of values of a head that are rotated.
    ///   - factors: Divisors of the frequencies, such as the tensor `rope_freqs.weight` with Llama 3's scaling.
    ///   - axes: Axis of each pair; pairs without one are not rotated. `nil`: all pairs use `time`.
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
            // The pair that makes `turns` turns over the original context.
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

    /// The rotation by the negative angles.
    var reversed: Rotary {
        Rotary(layout: layout, frequencies: frequencies.map { -$0 }, axes: axes, magnitude: magnitude)
    }

    /// The rotary embedding of an image's patches.
    init(layout: RotaryLayout, frequencies: [Double], axes: [Axis]?, magnitude: Double = 1) {
        self.layout = layout
        self.frequencies = frequencies
        self.axes = axes
        self.magnitude = magnitude
    }

    /// Cosine and sine of every pair at each row's position.
    ///
    /// - Parameter index: Index of this embedding in the network; each has its own buffer in `work`.
    func angles(of positions: [Int32], in work: Workspace, index: Int) -> RotaryAngles {
        angles(rows: positions.count, in: work, index: index) { row, _ in positions[row] }
    }

    /// Cosine and sine of every pair at each row's place.
    func angles(of places: [RotaryPosition], in work: Workspace, index: Int) -> RotaryAngles {
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
        RotaryAngles(
            layout: layout, frequencies: frequencies, magnitude: magnitude,
            in: work.angles(index, rows, 2 * frequencies.count), position: position)
    }
}
