import Compute
import KernelFormats

/// Who waits for the engine's thread while it computes prompts or a step of a reading.
package enum StepCompany: Sendable {
    case nobody
    /// Prompts or other readings.
    case others
    /// Answers, whose streams stall meanwhile.
    case answers
}

/// How many rows of prompts or of a reading a step has beside others: as many as take a fixed time at the last measured speed.
struct StepPace {
    /// Seconds of a row in the last measured step; 0: not measured.
    private(set) var secondsOfRow = 0.0

    /// Minimum rows beside answers: they take little longer than one, since a step reads all weights.
    static let leastRows = 8

    /// Maximum rows of the next step: as many as take 20 ms, or 10 ms beside answers, since requests that arrive also wait for
    /// the step. If that is only a few rows, the step has more, because every step reads all weights.
    func rows(beside company: StepCompany, of shape: StateShape) -> Int {
        switch company {
        case .nobody, .others: return max(rows(in: 0.02), 4 * pageTokens)
        case .answers:
            // Recurrent layers read whole pages, so that results do not depend on the steps.
            let least = shape.recurrentFloats > 0 ? pageTokens : Self.leastRows
            // A stream may wait for two steps: together a tenth of a second.
            return max(rows(in: 0.01), min(pageTokens, rows(in: 0.05)), least)
        }
    }

    private func rows(in seconds: Double) -> Int {
        secondsOfRow > 0 ? Int(min(Double(StateShape.stepRows), seconds / secondsOfRow)) : 0
    }

    /// Measures a step.
    mutating func learn(rows: Int, seconds: Double) { secondsOfRow = max(1e-9, seconds / Double(rows)) }
}
